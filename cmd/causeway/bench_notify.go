package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/causeway-ahp/causeway/notify"
	"github.com/causeway-ahp/causeway/notify/sqlite"
	"github.com/causeway-ahp/causeway/notify/webhook"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

const (
	benchNotifyRate = 1000 // calls a second that end
	benchNotifyDead = 1000 // endpoints that do not answer
	benchDeadRate   = 100  // calls a second that end at one of those
)

// benchNotifyAll is what the notification engine carries to a receiver in this
// process, alone and beside endpoints that do not answer.
func benchNotifyAll(cmd *cobra.Command, r *measure.Report) error {
	b, err := openBenchNotify(cmd.Context())
	if err != nil {
		return err
	}
	return errors.Join(b.run(cmd, r), b.close(cmd.Context()))
}

// benchNotify is an engine on a store of its own, a receiver that notes when
// each notification arrives, and a black hole.
type benchNotify struct {
	dir      string
	store    *sqlite.Store
	hook     *webhook.Webhook
	engine   *notify.Engine
	server   *http.Server
	receiver string // URL
	hole     net.Listener
	serving  sync.WaitGroup

	arrived sync.Map // notification id: time.Time
	count   atomic.Int64

	mu   sync.Mutex
	held []net.Conn // in the hole
}

func openBenchNotify(ctx context.Context) (b *benchNotify, err error) {
	b = &benchNotify{}
	if b.dir, err = os.MkdirTemp("", "causeway-bench-"); err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b.receiver = "http://" + ln.Addr().String()
	b.server = &http.Server{Handler: http.HandlerFunc(b.receive)}
	b.serving.Go(func() { _ = b.server.Serve(ln) })
	if b.hole, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	b.serving.Go(b.swallow)
	if b.store, err = sqlite.Open(ctx, filepath.Join(b.dir, "notify.db")); err != nil {
		return nil, err
	}
	b.hook = webhook.New(webhook.Options{Resolve: loopback, IdlePerTarget: 32})
	many := 1 << 30
	b.engine, err = notify.New(context.WithoutCancel(ctx), notify.Options{
		Store: b.store, Secrets: notify.NewMemorySecrets(), Types: []notify.RouteType{b.hook},
		Limits: notify.Limits{ActiveCalls: many, PendingItems: many, Endpoints: many, PerTarget: func(target string) notify.TargetLimits {
			if target == b.receiver {
				return notify.TargetLimits{Rate: 1e6, Burst: many, InFlight: 32}
			}
			return notify.TargetLimits{}
		}},
	})
	return b, err
}

// loopback is where every name of the benchmark leads.
func loopback(context.Context, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, nil
}

func (b *benchNotify) receive(_ http.ResponseWriter, r *http.Request) {
	if _, again := b.arrived.LoadOrStore(r.Header.Get("webhook-id"), time.Now()); !again {
		b.count.Add(1)
	}
}

// swallow takes connections and says nothing.
func (b *benchNotify) swallow() {
	for {
		c, err := b.hole.Accept()
		if err != nil {
			return
		}
		b.mu.Lock()
		b.held = append(b.held, c)
		b.mu.Unlock()
	}
}

func (b *benchNotify) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel() // the black hole is not waited for
	err := errors.Join(b.engine.Shutdown(ctx), b.hole.Close(), b.server.Close())
	b.hook.Close()
	b.mu.Lock()
	for _, c := range b.held {
		_ = c.Close()
	}
	b.mu.Unlock()
	b.serving.Wait()
	return errors.Join(err, b.store.Close(), os.RemoveAll(b.dir))
}

func (b *benchNotify) run(cmd *cobra.Command, r *measure.Report) error {
	ctx := cmd.Context()
	measuring(cmd, "notifications at %d a second", benchNotifyRate)
	if _, err := b.load(ctx, benchAmount(cmd, benchNotifyRate)); err != nil { // what is made once is made
		return err
	}
	alone, err := b.measured(cmd, r, "alone")
	if err != nil {
		return err
	}
	measuring(cmd, "the same beside %d dead endpoints, half refusing, half hanging", benchNotifyDead)
	stop, err := b.bury(ctx)
	if err != nil {
		return err
	}
	beside, err := b.measured(cmd, r, "beside 1,000 dead endpoints")
	stop()
	if err != nil {
		return err
	}
	r.Add(measure.Figure{Name: "rise of the p99 by dead endpoints", Value: beside - alone, Unit: "ms", Goal: "<= 50 ms"})
	r.Add(measure.Figure{Name: "memory in use at the end", Value: float64(measure.Heap()) / (1 << 20), Unit: "MiB", Note: "receiver and benchmark included"})
	return nil
}

// measured sends notifications, in rounds, and reports how they fared. It returns
// the 99th percentile of the delay, in milliseconds.
func (b *benchNotify) measured(cmd *cobra.Command, r *measure.Report, when string) (p99 float64, err error) {
	n := benchAmount(cmd, 4*benchNotifyRate)
	rounds, err := benchRounds(cmd, 4, func() ([]float64, error) {
		began, cpu := time.Now(), measure.CPU()
		times, err := b.load(cmd.Context(), n)
		rate := float64(n) / time.Since(began).Seconds()
		return []float64{
			rate, perEach(cpu, n), milliseconds(measure.Percentile(times, 0.5)), milliseconds(measure.Percentile(times, 0.99)),
		}, err
	})
	if err != nil {
		return 0, err
	}
	for i, f := range []measure.Figure{
		{Name: "delivered, " + when, Unit: "/s", Note: fmt.Sprintf("offered at %s/s", grouped(benchNotifyRate))},
		{Name: "processor time, " + when, Unit: "us CPU each", Note: "receiver included"},
		{Name: "trigger to request, " + when + ", p50", Unit: "ms"},
		{Name: "trigger to request, " + when + ", p99", Unit: "ms", Goal: "<= 50 ms"},
	} {
		p99 = r.Add(f.Over(rounds[i])).Value
	}
	return p99, nil
}

// load makes n calls end at the rate, and returns how long after its end each
// was told of, once the last has arrived.
func (b *benchNotify) load(ctx context.Context, n int) ([]time.Duration, error) {
	target := b.count.Load() + int64(n)
	fired := make(chan firing, n)
	began := time.Now()
	for i := range n {
		if !benchSleep(ctx, time.Until(began.Add(time.Duration(i)*time.Second/benchNotifyRate))) {
			return nil, context.Cause(ctx)
		}
		go func() { fired <- b.one(ctx, "healthy", b.receiver+"/hook") }()
	}
	all := make([]firing, n)
	for i := range all {
		if all[i] = <-fired; all[i].err != nil {
			return nil, all[i].err
		}
	}
	for b.count.Load() < target {
		if !benchSleep(ctx, time.Millisecond) {
			return nil, context.Cause(ctx)
		}
	}
	times := make([]time.Duration, n)
	for i, f := range all {
		at, ok := b.arrived.LoadAndDelete(f.id)
		if !ok {
			return nil, fmt.Errorf("notification %s did not arrive", f.id)
		}
		times[i] = at.(time.Time).Sub(f.at)
	}
	return times, nil
}

// firing is the end of a call and its notification.
type firing struct {
	id  string
	at  time.Time
	err error
}

// one makes a call and ends it.
func (b *benchNotify) one(ctx context.Context, principal, url string) firing {
	caller := notify.Caller{Principal: principal, Private: true, Trusted: true}
	config, err := b.engine.Check([]byte(`{"routes":[{"id":"a","type":"webhook","endpoint":"`+url+`","triggers":["completed"]}]}`), caller)
	if err != nil {
		return firing{err: err}
	}
	call, err := b.engine.Admit(ctx, config, notify.Request{Caller: caller, RequestID: jsontext.Value(`1`), Tool: "bench"})
	if err != nil {
		return firing{err: err}
	}
	at := time.Now()
	report, err := call.Finish(ctx, notify.EndOfResult(jsontext.Value(`{"content":[{"type":"text","text":"done"}]}`)))
	if err != nil {
		return firing{err: err}
	}
	return firing{id: strings.Join(report.Notifications, ""), at: at}
}

// bury tells every dead endpoint of a call, and goes on with them until stop.
func (b *benchNotify) bury(ctx context.Context) (stop func(), err error) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	refusing := closed.Addr().(*net.TCPAddr).Port
	if err := closed.Close(); err != nil {
		return nil, err
	}
	hanging := b.hole.Addr().(*net.TCPAddr).Port
	url := func(i int) string {
		port := refusing
		if i%2 == 0 {
			port = hanging
		}
		return fmt.Sprintf("http://dead%d.example:%d/hook", i, port)
	}
	for i := range benchNotifyDead {
		if f := b.one(ctx, fmt.Sprint("tenant", i%50), url(i)); f.err != nil {
			return nil, f.err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		for benchSleep(ctx, time.Second/benchDeadRate) {
			i := rand.IntN(benchNotifyDead)
			b.one(ctx, fmt.Sprint("tenant", i%50), url(i))
		}
	})
	return func() {
		cancel()
		work.Wait()
	}, nil
}

// benchSleep waits, and reports whether ctx has not ended.
func benchSleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
