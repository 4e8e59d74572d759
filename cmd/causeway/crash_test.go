package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/internal/datadir"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// TestCrashes kills the real program again and again while clients use it, and
// looks after each restart for what must hold: no number means two things, every
// client is up to date with everything it was shown, no command ran twice, nothing
// of the dead host lives, and no file is left over. CAUSEWAY_SCALE=1 kills 500
// times; a failure names the seed, which CAUSEWAY_SEED repeats.
func TestCrashes(t *testing.T) {
	t.Parallel()
	kills := scale.Count(500)
	if testing.Short() {
		kills = 5
	}
	w := newCrashWorld(t)
	for i := range kills {
		w.run(i)
		if t.Failed() {
			t.Fatalf("after kill %d; CAUSEWAY_SEED=%d repeats it", i+1, w.seed)
		}
	}
	if w.facts.replay < w.facts.others {
		t.Errorf("%d reconnects were answered by replay and %d otherwise", w.facts.replay, w.facts.others)
	}
	t.Logf("%d kills, %d envelopes shown, %d reconnects by replay, %d otherwise, %d commands ran",
		kills, len(w.facts.shown), w.facts.replay, w.facts.others, len(w.ran()))
}

// crashWorld is a state directory with its hosts, one after the other.
type crashWorld struct {
	t        *testing.T
	dir      datadir.Dir
	seed     uint64
	rng      *rand.Rand
	marker   string // in the command line of every command that waits
	record   string // file to which every command writes its id
	facts    *crashFacts
	clients  []*crashClient
	sessions []ahp.URI
	chats    []ahp.URI
	host     *exec.Cmd
	stdout   io.Reader // of the host
	log      bytes.Buffer
}

func newCrashWorld(t *testing.T) *crashWorld {
	w := &crashWorld{t: t, dir: stateDir(t), seed: crashSeed(t), facts: &crashFacts{shown: make(map[uint64]string)}}
	w.rng = rand.New(rand.NewPCG(w.seed, 0))
	w.marker = fmt.Sprintf("1000.%09d", os.Getpid())
	w.record = filepath.Join(t.TempDir(), "ran")
	for i := range 3 {
		w.clients = append(w.clients, newCrashClient(fmt.Sprint("client-", i), w.facts))
	}
	t.Cleanup(func() {
		w.kill()
		for _, c := range w.clients {
			c.lost()
		}
	})
	w.start()
	w.connect()
	w.create(3)
	return w
}

func crashSeed(t *testing.T) uint64 {
	var seed uint64
	if s := os.Getenv("CAUSEWAY_SEED"); s != "" {
		if _, err := fmt.Sscan(s, &seed); err != nil {
			t.Fatalf("CAUSEWAY_SEED: %v", err)
		}
		return seed
	}
	return rand.Uint64()
}

// start starts a host and waits until it says that it is ready. That somebody can
// be found is not enough: for a moment that may be the dead one.
func (w *crashWorld) start() {
	w.t.Helper()
	w.spawn()
	host := w.host
	limit := time.AfterFunc(scriptWait, func() { _ = host.Process.Kill() })
	defer limit.Stop()
	line, err := bufio.NewReader(w.stdout).ReadString('\n')
	if err != nil {
		w.kill() // the log is complete then
	}
	if err != nil && bytes.Contains(w.log.Bytes(), []byte("starting or stopping")) {
		// Killed as it was starting a program, a host leaves its lock to that for
		// a moment.
		w.start()
		return
	}
	if err != nil || !strings.HasPrefix(line, "READY:") {
		w.t.Fatalf("the host says %q: %v\n%s", line, err, w.log.Bytes())
	}
}

func (w *crashWorld) spawn() {
	w.t.Helper()
	w.log.Reset()
	w.host = exec.Command("causeway", "serve", "--data", w.dir.Path(), "--listen", "127.0.0.1:0", "--cwd", w.t.TempDir())
	w.host.Stderr = &w.log
	var err error
	if w.stdout, err = w.host.StdoutPipe(); err != nil {
		w.t.Fatal(err)
	}
	if err := w.host.Start(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *crashWorld) kill() {
	if w.host != nil {
		_ = w.host.Process.Kill()
		_ = w.host.Wait()
		w.host = nil
	}
}

func (w *crashWorld) connect() {
	w.t.Helper()
	h, err := w.dir.Find()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range w.clients {
		if err := c.connect(w.t.Context(), h.Socket); err != nil {
			w.t.Fatalf("%s: %v\n%s", c.id, err, w.log.Bytes())
		}
	}
}

// create makes sessions and waits for their chats. Everybody subscribes.
func (w *crashWorld) create(n int) {
	ctx := testContext(w.t)
	for range n {
		uri := ahp.SessionPrefix + uuid.NewString()
		if err := w.clients[0].call(ctx, "createSession", map[string]any{"channel": uri}, nil); err != nil {
			w.t.Fatal(err)
		}
		w.sessions = append(w.sessions, uri)
		for _, c := range w.clients {
			if err := c.subscribe(ctx, uri); err != nil {
				w.t.Fatal(err)
			}
		}
		var chat *ahp.URI
		w.eventually("the session has a chat", func() bool {
			chat = w.clients[0].state(uri).(*ahp.SessionState).DefaultChat
			return chat != nil
		})
		w.chats = append(w.chats, *chat)
		for _, c := range w.clients {
			if err := c.subscribe(ctx, *chat); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

func (w *crashWorld) eventually(what string, cond func() bool) {
	w.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(scriptWait)
	defer limit.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-limit.C:
			w.t.Fatalf("never: %s\n%s", what, w.log.Bytes())
		}
	}
}

// command is a line that writes its id down and then takes some time, or for
// ever.
func (w *crashWorld) command(id string, rng *rand.Rand) string {
	line := fmt.Sprintf("echo %s >> %s", id, w.record)
	switch rng.IntN(4) {
	case 0:
		return line + "; sleep " + w.marker
	case 1:
		return line + "; for i in 1 2 3 4 5 6 7 8 9; do echo line $i; sleep 0.02; done"
	}
	return line
}

// run uses the host for a while, kills it and checks the next one. Now and then
// that one is killed before it is ready.
func (w *crashWorld) run(nth int) {
	ctx, cancel := context.WithCancel(w.t.Context())
	var working sync.WaitGroup
	for i, c := range w.clients {
		rng := rand.New(rand.NewPCG(w.seed, uint64(nth*len(w.clients)+i+1)))
		working.Go(func() { c.work(ctx, w, rng) })
	}
	<-time.After(time.Duration(w.rng.IntN(300)) * time.Millisecond)
	w.kill()
	cancel()
	working.Wait()
	for _, c := range w.clients {
		c.lost()
	}
	for w.rng.IntN(5) == 0 {
		w.spawn()
		<-time.After(time.Duration(w.rng.IntN(60)) * time.Millisecond)
		w.kill()
	}
	w.start()
	w.checkProcesses() // by now nothing of the old one may be left
	w.connect()
	w.checkFiles()
	w.checkOnce()
	w.checkStates()
	w.facts.mu.Lock()
	defer w.facts.mu.Unlock()
	for _, text := range w.facts.wrong {
		w.t.Error(text)
	}
}

// checkProcesses looks for commands of dead hosts: none has been started since.
func (w *crashWorld) checkProcesses() {
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(entries) == 0 {
		return // no table of processes here
	}
	for _, file := range entries {
		line, err := os.ReadFile(file)
		if err == nil && bytes.Contains(line, []byte(w.marker)) {
			w.t.Errorf("alive: %s", bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
		}
	}
}

func (w *crashWorld) checkFiles() {
	entries, err := os.ReadDir(w.dir.Path())
	if err != nil {
		w.t.Fatal(err)
	}
	known := []string{"groups", "host.json", "host.lock", "host.sock", "journal.db", "journal.db-shm", "journal.db-wal", "token",
		"notify.db", "notify.db-shm", "notify.db-wal", "notify-secrets"}
	for _, e := range entries {
		if !slices.Contains(known, e.Name()) {
			w.t.Errorf("left over: %s", e.Name())
		}
	}
	if left, err := os.ReadDir(w.dir.GroupsPath()); err != nil || len(left) > 0 {
		w.t.Errorf("%d process groups are noted: %v", len(left), err)
	}
}

// ran lists what commands wrote down.
func (w *crashWorld) ran() []string {
	text, err := os.ReadFile(w.record)
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return strings.Fields(string(text))
}

func (w *crashWorld) checkOnce() {
	times := make(map[string]int)
	for _, id := range w.ran() {
		if times[id]++; times[id] == 2 {
			w.t.Errorf("the command of turn %s ran twice", id)
		}
	}
}

// checkStates compares the states of every client with those of a newcomer, and
// looks for turns that are still open although nothing runs.
func (w *crashWorld) checkStates() {
	ctx := testContext(w.t)
	h, err := w.dir.Find()
	if err != nil {
		w.t.Fatal(err)
	}
	fresh := newCrashClient("newcomer", w.facts)
	if err := fresh.connect(ctx, h.Socket); err != nil {
		w.t.Fatal(err)
	}
	defer fresh.lost()
	for _, uri := range append(slices.Clone(w.sessions), w.chats...) {
		if err := fresh.subscribe(ctx, uri); err != nil {
			w.t.Fatal(err)
		}
	}
	want := encodeStates(w.t, fresh)
	for _, uri := range w.chats {
		if s := fresh.state(uri).(*ahp.ChatState); s.ActiveTurn != nil {
			w.t.Errorf("turn %s of %s is still open", s.ActiveTurn.ID, uri)
		}
	}
	for _, c := range w.clients {
		if diff := cmp.Diff(want, encodeStates(w.t, c)); diff != "" {
			w.t.Errorf("%s is not up to date (-host +client):\n%s", c.id, diff)
		}
	}
}

func encodeStates(t *testing.T, c *crashClient) map[ahp.URI]string {
	t.Helper()
	c.mu.Lock()
	states := maps.Clone(c.states)
	c.mu.Unlock()
	text := make(map[ahp.URI]string)
	for uri, state := range states {
		raw, err := ahp.Marshal(state)
		if err != nil {
			t.Fatal(err)
		}
		text[uri] = string(raw)
	}
	return text
}
