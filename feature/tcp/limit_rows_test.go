package tcp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/limit"
	"github.com/causeway-ahp/causeway/internal/limit/limittest"
	"github.com/causeway-ahp/causeway/internal/simnet"
)

// driven is a world in which one limit is taken to its bound and over it.
type driven struct {
	*world
	*limittest.Counter
}

type drive struct {
	options Options
	run     func(d *driven)
}

// TestEveryLimitIsDrivenToItsBound has a drive for each row of the table. Within its
// bound the counter stands still, over it it rises.
func TestEveryLimitIsDrivenToItsBound(t *testing.T) {
	l := DefaultLimits
	limittest.Every(t, l.Rows(), drives, func(t *testing.T, row limit.Row, plan drive) {
		bubble(t, plan.options, host.Limits{}, func(w *world) {
			d := &driven{w, limittest.Follow(w.t, w.h.Metrics(), row)}
			plan.run(d)
			synctest.Wait()
			d.Over()
		})
	})
}

// within says that so far the bound was kept.
func (d *driven) within() {
	d.t.Helper()
	synctest.Wait()
	d.Within()
}

// sink is a destination that reads what comes.
func (d *driven) sink() {
	d.listen("127.0.0.1:80", func(conn *simnet.Conn) { _ = readAll(conn); _ = conn.Close() })
}

func create(f *far, n int) error {
	_, err := f.call("createTcpConnection", fmt.Sprintf(`{"channel":"ahp-tcp:/t%d","host":"127.0.0.1","port":80}`, n))
	return err
}

// refused checks what a client is told.
func (d *driven) refused(err error, want string) {
	d.t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		d.t.Errorf("the client is told %v, want %s", err, want)
	}
}

var drives = map[string]drive{
	limitPerClient: {Options{Limits: Limits{PerClient: 1}}, func(d *driven) {
		d.sink()
		c := d.far(d.connect())
		if err := create(c, 1); err != nil {
			d.t.Fatal(err)
		}
		d.within()
		d.refused(create(c, 2), "too many TCP connections")
		c.close()
	}},
	limitPerPrincipal: {Options{Limits: Limits{PerPrincipal: 1}}, func(d *driven) {
		d.sink()
		a, b := d.far(d.connect()), d.far(d.connect())
		if err := create(a, 1); err != nil {
			d.t.Fatal(err)
		}
		d.within()
		d.refused(create(b, 2), "too many TCP connections")
		a.close()
		b.close()
	}},
	limitOpen: {Options{Limits: Limits{Open: 5 * time.Second}, Dial: func(ctx context.Context, _ netip.AddrPort) (Socket, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}}, func(d *driven) {
		c := d.far(d.connect())
		began := time.Now()
		answered := make(chan error, 1)
		d.start(func() { answered <- create(c, 1) })
		time.Sleep(4 * time.Second)
		d.within()
		if err := <-answered; err == nil {
			d.t.Error("it was opened")
		}
		if took := time.Since(began); took != 5*time.Second {
			d.t.Errorf("it took %v", took)
		}
		c.close()
	}},
	"tcp-unsubscribed": {Options{Limits: Limits{Unsubscribed: 3 * time.Second}}, func(d *driven) {
		done := make(chan reading, 1)
		d.listen("127.0.0.1:80", func(conn *simnet.Conn) { done <- readAll(conn); _ = conn.Close() })
		c := d.far(d.connect())
		if err := create(c, 1); err != nil {
			d.t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		d.within()
		time.Sleep(2 * time.Second)
		if n := d.f.Len(); n != 0 {
			d.t.Errorf("%d connections are left", n)
		}
		if r := <-done; r.err == nil {
			d.t.Error("the destination saw an orderly end")
		}
		c.close()
	}},
	"tcp-final-drain": {Options{Limits: Limits{FinalDrain: 4 * time.Second}}, func(d *driven) {
		done := make(chan reading, 1)
		d.listen("127.0.0.1:80", func(conn *simnet.Conn) {
			_ = conn.CloseWrite()
			time.Sleep(time.Minute)
			done <- readAll(conn)
			_ = conn.Close()
		})
		c := d.far(d.connect())
		s := c.mustOpen("ahp-tcp:/t1", "127.0.0.1", 80, ours)
		_ = readAll(s)
		_, err := s.Write(noise(1 << 20))
		if err = errors.Join(err, s.CloseWrite(), s.unsubscribe()); err != nil {
			d.t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		d.within()
		time.Sleep(2 * time.Second)
		if n := d.f.Len(); n != 0 {
			d.t.Errorf("%d connections are left", n)
		}
		if r := <-done; r.err == nil {
			d.t.Error("the destination saw an orderly end")
		}
		c.close()
	}},
}
