package journal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestReplayModel holds the ring against a list of everything that was appended.
func TestReplayModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		opts := Options{
			RingRecords: rapid.IntRange(1, 20).Draw(t, "records"),
			RingBytes:   rapid.IntRange(1, 4000).Draw(t, "bytes"),
		}
		j := New(opts)
		var all []*Record
		var seq uint64
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "n") {
					r := drawRecord(t, &seq)
					if err := j.Append(r); err != nil {
						t.Fatal(err)
					}
					if r.Kind == Action {
						all = append(all, r)
					}
				}
			},
			"replay": func(t *rapid.T) { checkReplay(t, j, all, uint64(rapid.IntRange(0, int(seq)+2).Draw(t, "after"))) },
			"find":   func(t *rapid.T) { checkFind(t, j, all) },
			"":       func(t *rapid.T) { checkBounds(t, j, opts, all, seq) },
		})
	})
}

func drawRecord(t *rapid.T, seq *uint64) *Record {
	r := &Record{
		Kind:    rapid.SampledFrom([]Kind{Action, Action, Action, Mark, Created, Removed}).Draw(t, "kind"),
		Channel: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "channel"),
		Body:    []byte(`"` + strings.Repeat("x", rapid.IntRange(0, 300).Draw(t, "size")) + `"`),
	}
	if r.Kind == Action || r.Kind == Mark {
		*seq += uint64(rapid.IntRange(1, 3).Draw(t, "gap"))
	}
	r.Seq = *seq
	if rapid.Bool().Draw(t, "client's") {
		r.Origin = Origin{ClientID: "c", Lineage: uint64(rapid.IntRange(1, 2).Draw(t, "lineage")), ClientSeq: *seq}
	}
	return r
}

// checkReplay: everything above after that is kept, in order, or an admission
// that something is gone; and nothing may be gone that was never dropped.
func checkReplay(t *rapid.T, j *Journal, all []*Record, after uint64) {
	got, size, complete := j.Replay(after, func(r *Record) bool { return r.Channel == "a" })
	if complete != (after >= j.Oldest()) {
		t.Fatalf("replay after %d: complete %v, oldest %d", after, complete, j.Oldest())
	}
	if !complete {
		if got != nil || size != 0 {
			t.Fatalf("an incomplete replay returned %d records", len(got))
		}
		return
	}
	var want []*Record
	wantSize := 0
	for _, r := range all {
		if r.Seq > after && r.Channel == "a" {
			want = append(want, r)
			wantSize += r.Size()
		}
	}
	if !slices.Equal(got, want) || size != wantSize {
		t.Fatalf("replay after %d: %d records of %d bytes, want %d of %d", after, len(got), size, len(want), wantSize)
	}
}

func checkFind(t *rapid.T, j *Journal, all []*Record) {
	for _, r := range all {
		if r.Origin.Lineage == 0 {
			continue
		}
		got, held := j.Find(r.Origin.Lineage, r.Origin.ClientSeq), r.Seq > j.Oldest()
		if held && got != r || !held && got != nil {
			t.Fatalf("find of number %d: %v, oldest is %d", r.Seq, got, j.Oldest())
		}
	}
	if j.Find(0, 0) != nil || j.Find(9, 1) != nil {
		t.Fatal("found what nobody dispatched")
	}
}

func checkBounds(t *rapid.T, j *Journal, opts Options, all []*Record, seq uint64) {
	n, bytes := j.Len()
	if n > opts.RingRecords || bytes > opts.RingBytes && n > 1 {
		t.Fatalf("%d records of %d bytes, bounds %d and %d", n, bytes, opts.RingRecords, opts.RingBytes)
	}
	if len(all) > 0 && n == 0 {
		t.Fatal("the newest action is not held")
	}
	sum, dispatched := 0, 0
	for _, r := range all[len(all)-n:] {
		sum += r.Size()
		if r.Origin.Lineage != 0 {
			dispatched++
		}
	}
	if sum != bytes || len(j.ring.dispatched) != dispatched {
		t.Fatalf("%d bytes and %d dispatches are counted, want %d and %d", bytes, len(j.ring.dispatched), sum, dispatched)
	}
	if len(j.ring.records) > 2*opts.RingRecords+130 {
		t.Fatalf("%d slots for %d records", len(j.ring.records), n)
	}
	if got := j.Committed(); got > seq {
		t.Fatalf("committed %d of %d", got, seq)
	}
}

// scripted is a store whose writes take time and fail as told.
type scripted struct {
	mu      sync.Mutex
	delay   time.Duration
	fail    int // so many writes fail
	writes  int
	written []uint64
	closed  bool
}

func (s *scripted) Write(group []*Record) error {
	time.Sleep(s.delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if s.fail > 0 {
		s.fail--
		return errors.New("no space left")
	}
	for _, r := range group {
		s.written = append(s.written, r.Seq)
	}
	return nil
}

func (s *scripted) Sync() error { return nil }

func (s *scripted) Close() error {
	s.closed = true
	return nil
}

func (s *scripted) numbers() []uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.written)
}

// watched collects what a journal reports.
type watched struct {
	mu    sync.Mutex
	marks []uint64
	fails []time.Duration
	began time.Time
}

func (w *watched) options(s Store) Options {
	w.began = time.Now()
	return Options{
		Store: s,
		Committed: func(seq uint64) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.marks = append(w.marks, seq)
		},
		Failed: func(error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.fails = append(w.fails, time.Since(w.began))
		},
	}
}

func appendAll(t *testing.T, j *Journal, seqs ...uint64) {
	t.Helper()
	for _, seq := range seqs {
		if err := j.Append(&Record{Seq: seq, Kind: Action}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGroups: what comes while a group is being written is the next one, and the
// mark moves only behind a write.
func TestGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &scripted{delay: time.Second}, new(watched)
		j := New(w.options(s))
		appendAll(t, j, 1)
		synctest.Wait()
		appendAll(t, j, 2, 3, 4)
		synctest.Wait()
		if got := j.Committed(); got != 0 {
			t.Errorf("committed %d before anything was written", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := j.Committed(); got != 1 {
			t.Errorf("committed %d after the first group, want 1", got)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(s.numbers(), w.marks, s.writes, s.closed), "[1 2 3 4] [1 4] 2 true"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestRetry: a refused group is tried again without anything to push it, ever
// less often, in order and with nothing between; then the pause is short again.
func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &scripted{fail: 9}, new(watched)
		j := New(w.options(s))
		appendAll(t, j, 1, 2)
		synctest.Wait()
		appendAll(t, j, 3)
		time.Sleep(time.Hour)
		synctest.Wait()
		if got, want := fmt.Sprint(s.numbers(), w.marks), "[1 2 3] [3]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		want := "[0s 50ms 150ms 350ms 750ms 1.55s 3.15s 6.35s 11.35s]"
		if got := fmt.Sprint(w.fails); got != want {
			t.Errorf("failures at %s, want %s", got, want)
		}
		s.fail, w.began, w.fails = 1, time.Now(), nil
		appendAll(t, j, 4)
		time.Sleep(RetryMin)
		synctest.Wait()
		if got := fmt.Sprint(s.numbers(), w.fails); got != "[1 2 3 4] [0s]" {
			t.Errorf("after another failure got %s", got)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestCloseWhileFailing: closing does not wait for a store that refuses, and
// nothing is marked that it did not take.
func TestCloseWhileFailing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &scripted{fail: 1000}, new(watched)
		j := New(w.options(s))
		appendAll(t, j, 1)
		time.Sleep(time.Minute)
		synctest.Wait()
		began := time.Now()
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d != 0 || !s.closed || j.Committed() != 0 {
			t.Errorf("closed %v after %v with %d committed", s.closed, d, j.Committed())
		}
		if err := j.Append(&Record{Seq: 2}); !errors.Is(err, ErrClosed) {
			t.Errorf("append after close: %v, want ErrClosed", err)
		}
		if err := j.Close(); err != nil {
			t.Errorf("second close: %v", err)
		}
	})
}

// TestStoreModel appends at random times to a store with random delays and
// failures: the store has everything once and in order, and the mark never runs
// ahead of it.
func TestStoreModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { rapid.SyncTest(t, storeModel) })
}

func storeModel(t *rapid.T) {
	s := &scripted{
		delay: time.Duration(rapid.IntRange(0, 50).Draw(t, "delay ms")) * time.Millisecond,
		fail:  rapid.IntRange(0, 5).Draw(t, "fail"),
	}
	var j *Journal
	ahead := false
	j = New(Options{Store: s, Committed: func(seq uint64) {
		n := s.numbers()
		ahead = ahead || len(n) == 0 || n[len(n)-1] < seq || j.Committed() != seq
	}})
	n := rapid.IntRange(1, 60).Draw(t, "records")
	for seq := range uint64(n) {
		if err := j.Append(&Record{Seq: seq + 1, Kind: Kind(seq % 4)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rapid.IntRange(0, 20).Draw(t, "pause ms")) * time.Millisecond)
	}
	time.Sleep(time.Minute)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	got := s.numbers()
	if ahead || len(got) != n || !slices.IsSorted(got) || j.Committed() != uint64(n) {
		t.Fatalf("ahead %v, written %v, committed %d of %d", ahead, got, j.Committed(), n)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, by := range []string{"host", "client"} {
		b.Run(by, func(b *testing.B) {
			b.ReportAllocs()
			j := New(Options{})
			body := []byte(`{"type":"chat/delta","turnId":"t","partId":"p","content":"hello"}`)
			var seq uint64
			for b.Loop() {
				seq++
				r := &Record{Seq: seq, Kind: Action, Channel: "ahp-chat:/c", Body: body}
				if by == "client" {
					r.Origin = Origin{ClientID: "c", Lineage: 1, ClientSeq: seq}
				}
				if err := j.Append(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
