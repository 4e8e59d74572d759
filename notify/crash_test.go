package notify_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/causeway-ahp/causeway/notify"
	"github.com/causeway-ahp/causeway/notify/secretdir"
	"github.com/causeway-ahp/causeway/notify/sqlite"
	"github.com/causeway-ahp/causeway/notify/webhook"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if plan := os.Getenv("NOTIFY_TEST_VICTIM"); plan != "" {
		if err := victim(plan); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// order is what a victim is told: where it works, how many calls it makes, and
// at which moment it dies.
type order struct {
	Dir   string `json:"dir"`
	URL   string `json:"url"`
	Calls int    `json:"calls"` // 0: only bring to its end what is there
	Point string `json:"point"`
	Hit   int    `json:"hit"` // it dies when the point is reached for this time
}

// Points of the test's own, on the side of the caller.
var ownPoints = []string{"before-ack", "after-ack", "tool-running", "after-result"}

// killer kills the process at the moment of the order.
type killer struct {
	order order
	mu    sync.Mutex
	seen  int
}

func (k *killer) at(point string) {
	if point != k.order.Point {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.seen++; k.seen == k.order.Hit {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // no other goroutine passes the point any more
	}
}

// victim is the process: it makes calls and delivers, until it is killed or
// nothing is left to do.
func victim(plan string) (err error) {
	k := &killer{}
	if err := json.Unmarshal([]byte(plan), &k.order); err != nil {
		return err
	}
	notify.OnCrashPoint(k.at)
	notify.HurrySchedule()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	store, err := sqlite.Open(ctx, filepath.Join(k.order.Dir, "notify.db"))
	if err != nil {
		return err
	}
	secrets, err := secretdir.Open(filepath.Join(k.order.Dir, "secrets"))
	if err != nil {
		return err
	}
	rule, err := webhook.ParseRule(k.order.URL)
	if err != nil {
		return err
	}
	e, err := notify.New(ctx, notify.Options{
		Store: store, Secrets: secrets, Types: []notify.RouteType{webhook.New(webhook.Options{Allow: []webhook.Rule{rule}})},
		Poll: 20 * time.Millisecond, Lease: 200 * time.Millisecond,
		Limits: notify.Limits{Target: notify.TargetLimits{Rate: 1000, Burst: 1000, InFlight: 8}},
	})
	if err != nil {
		return err
	}
	diary, err := os.OpenFile(filepath.Join(k.order.Dir, "diary"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	var calls sync.WaitGroup
	errs := make(chan error, k.order.Calls)
	for range k.order.Calls {
		calls.Go(func() { errs <- k.call(ctx, e, diary) })
	}
	calls.Wait()
	close(errs)
	for e := range errs {
		err = errors.Join(err, e)
	}
	if err == nil {
		err = quiet(ctx, store)
	}
	return errors.Join(err, e.Shutdown(ctx), store.Close())
}

// call makes one call as an edge does, and writes into the diary what the caller
// has seen of it. A line is one write, so a kill cuts between lines.
func (k *killer) call(ctx context.Context, e *notify.Engine, diary io.Writer) error {
	who := notify.Caller{Principal: "alice", Private: true}
	raw := fmt.Sprintf(`{"routes":[{"id":"a","type":"webhook","endpoint":%q,"triggers":["completed","failed"]}]}`, k.order.URL+"/hook")
	config, err := e.Check([]byte(raw), who)
	if err != nil {
		return err
	}
	c, err := e.Admit(ctx, config, notify.Request{Caller: who, RequestID: jsontext.Value(`1`), Tool: "build"})
	if err != nil {
		return err
	}
	k.at("before-ack")
	if _, err := fmt.Fprintf(diary, "acknowledged %s\n", c.ID()); err != nil {
		return err
	}
	k.at("after-ack")
	if _, err := fmt.Fprintf(diary, "ran %s\n", c.ID()); err != nil {
		return err
	}
	k.at("tool-running")
	if _, err := c.Finish(ctx, notify.EndOfResult(jsontext.Value(`{"content":[]}`))); err != nil {
		return err
	}
	k.at("after-result")
	_, err = fmt.Fprintf(diary, "answered %s\n", c.ID())
	return err
}

// quiet waits until no call runs and nothing is to be delivered.
func quiet(ctx context.Context, store notify.Store) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		open := 0
		err := store.View(ctx, func(tx notify.Tx) error {
			for table, state := range map[notify.Table]string{notify.Calls: "running", notify.Deliveries: "pending"} {
				n, err := tx.Count(table, notify.Query{Where: []notify.Cond{{Column: notify.ByState, Value: state}}})
				if err != nil {
					return err
				}
				open += n
			}
			return nil
		})
		if err != nil || open == 0 {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d calls and notifications have not come to their end: %w", open, ctx.Err())
		}
	}
}

// receiver counts what arrives and fails now and then.
type receiver struct {
	mu     sync.Mutex
	random *rand.Rand
	bodies map[string]map[string]int // by id
	ok     map[string]bool           // ids that were answered with 200
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // cut off by the kill
	}
	id := req.Header.Get("webhook-id")
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bodies[id] == nil {
		r.bodies[id] = make(map[string]int)
	}
	r.bodies[id][string(body)]++
	if r.random.IntN(4) == 0 {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	r.ok[id] = true
}

// TestAcceptance07KilledAtEveryWindow kills a real process at a point chosen by a
// seed, sometimes also the one that cleans up after it, and then looks at what
// was acknowledged.
func TestAcceptance07KilledAtEveryWindow(t *testing.T) {
	runs := 20
	switch {
	case os.Getenv(scale.Variable) != "":
		runs = scale.Count(1000)
	case testing.Short():
		runs = 3
	}
	points := slices.Concat(notify.CrashPoints, ownPoints)
	first := rand.Uint64N(1 << 32)
	if s := os.Getenv("NOTIFY_TEST_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first, runs = seed, 1
	}
	for i := range runs {
		seed := first + uint64(i)
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			killed(t, points, seed)
		})
	}
}

// killed is one run.
func killed(t *testing.T, points []string, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 7))
	r := &receiver{random: rand.New(rand.NewPCG(seed, 8)), bodies: make(map[string]map[string]int), ok: make(map[string]bool)}
	server := httptest.NewServer(r)
	defer server.Close()
	o := order{Dir: t.TempDir(), URL: server.URL, Calls: 6, Point: points[seed%uint64(len(points))], Hit: 1 + random.IntN(6)}
	died := run(t, o)
	if random.IntN(2) == 0 {
		run(t, order{Dir: o.Dir, URL: o.URL, Point: points[random.IntN(len(points))], Hit: 1 + random.IntN(3)})
	}
	if run(t, order{Dir: o.Dir, URL: o.URL}) {
		t.Fatal("the last process died, though nobody killed it")
	}
	t.Logf("killed at %s, time %d: %v", o.Point, o.Hit, died)
	r.check(t, o.Dir)
}

// run starts a victim and reports whether it was killed.
func run(t *testing.T, o order) bool {
	t.Helper()
	plan, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "NOTIFY_TEST_VICTIM="+string(plan), "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return false
	case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		return true
	}
	t.Fatalf("victim: %v\n%s", err, out)
	return false
}

// check holds the store, the diary and what arrived against each other.
func (r *receiver) check(t *testing.T, dir string) {
	ctx := t.Context()
	store, err := sqlite.Open(ctx, filepath.Join(dir, "notify.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	items, err := notify.NewDesk(store, webhook.New(webhook.Options{})).Items(ctx, notify.ItemQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	terminal := make(map[string][]notify.Item)
	for _, it := range items {
		terminal[it.CallID] = append(terminal[it.CallID], it)
		if it.State != "delivered" && it.State != "dead" {
			t.Errorf("notification %s is %s", it.ID, it.State)
		}
		if it.State == "delivered" && !r.ok[it.ID] {
			t.Errorf("notification %s counts as delivered, the receiver never took it", it.ID)
		}
	}
	ran := make(map[string]int)
	for _, line := range diary(t, dir) {
		what, id, _ := strings.Cut(line, " ")
		if what == "ran" {
			ran[id]++
		}
		list := terminal[id]
		if len(list) != 1 {
			t.Errorf("call %s (%s) has %d terminal notifications, want 1", id, what, len(list))
		} else if what == "answered" && list[0].Trigger != notify.Completed {
			t.Errorf("call %s was answered, and ended as %s", id, list[0].Trigger)
		}
	}
	for id, n := range ran {
		if n != 1 {
			t.Errorf("the tool of call %s ran %d times", id, n)
		}
	}
	for id, bodies := range r.bodies {
		if len(bodies) != 1 {
			t.Errorf("notification %s arrived with %d different bodies", id, len(bodies))
		}
	}
	if known := len(r.bodies); known > len(items) {
		t.Errorf("%d ids arrived, %d are known", known, len(items))
	}
}

func diary(t *testing.T, dir string) (lines []string) {
	f, err := os.Open(filepath.Join(dir, "diary"))
	if err != nil {
		return nil // killed before anything was acknowledged
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}
