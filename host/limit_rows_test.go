package host

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/internal/limit"
	"github.com/causeway-ahp/causeway/internal/limit/limittest"
	"github.com/causeway-ahp/causeway/transport"
)

// drive takes a limit to its bound and over it: what the peer sees is the drive's to
// check, the counter is checked for it.
type drive struct {
	options Options
	run     func(d *driven)
}

type driven struct {
	*world
	*limittest.Counter
}

// TestEveryLimitIsDrivenToItsBound has a drive for each row of the table. Within its
// bound the counter stands still, over it it rises.
func TestEveryLimitIsDrivenToItsBound(t *testing.T) {
	l := DefaultLimits
	limittest.Every(t, l.Rows(), drives, func(t *testing.T, row limit.Row, plan func() drive) {
		synctest.Test(t, func(t *testing.T) {
			plan := plan()
			w := newWorld(t, plan.options)
			d := &driven{w, limittest.Follow(t, w.h.Metrics(), row)}
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

// closed checks how a connection ended.
func (p *peer) closed(code transport.Code, reason CloseCause) {
	p.w.t.Helper()
	synctest.Wait()
	checkClosed(p.w.t, p.conn, code, reason)
}

func checkClosed(t *testing.T, conn transport.Conn, code transport.Code, reason CloseCause) {
	t.Helper()
	for {
		_, err := conn.Read()
		var end *transport.CloseError
		switch {
		case err == nil:
		case !errors.As(err, &end):
			t.Errorf("the connection ended with %v", err)
			return
		default:
			if end.Code != code || end.Reason != string(reason) {
				t.Errorf("closed with %d %s, want %d %s", end.Code, end.Reason, code, reason)
			}
			return
		}
	}
}

// hears checks that everything that came since the last look is one message with want.
func (p *peer) hears(want string) {
	p.w.t.Helper()
	if got := p.take(); len(got) == 0 || !strings.Contains(got[len(got)-1], want) {
		p.w.t.Errorf("got %.300q, want %s", got, want)
	}
}

func (p *peer) silent() {
	p.w.t.Helper()
	if got := p.take(); len(got) != 0 {
		p.w.t.Errorf("got %.300q, want silence", got)
	}
}

func (p *peer) ask(id int, method, params string) {
	p.w.t.Helper()
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
}

func (p *peer) title(seq int, title string) {
	p.w.t.Helper()
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":%d,"action":{"type":"session/titleChanged","title":%q}}}`, driveSession, seq, title))
}

func (p *peer) start(seq int, turn string) {
	p.w.t.Helper()
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":%d,"action":{"type":"chat/turnStarted","turnId":%q,"startedAt":"2000-01-01T00:00:00.000Z","message":{"text":"go"}}}}`, driveChat, seq, turn),
		fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":%d,"action":{"type":"chat/turnCancelled","turnId":%q}}}`, driveChat, seq+1, turn))
}

const (
	driveSession = "ahp-session:/s"
	driveChat    = "ahp-chat:/c"
	rootParams   = `{"channel":"ahp-root://"}`
)

// joined is a client that follows the channels, which are made first.
func (d *driven) joined(name string, channels ...ahp.URI) *peer {
	d.t.Helper()
	for _, u := range channels {
		if d.h.State(u) != nil {
			continue
		}
		var err error
		if u == driveChat {
			err = errors.Join(d.h.Create(driveSession, labSession("x"), ""), d.h.Create(u, labChat(u), driveSession))
		} else {
			err = d.h.Create(u, labSession("x"), "")
		}
		if err != nil {
			d.t.Fatal(err)
		}
	}
	p := d.peer(name)
	p.initialize(name, channels...)
	p.hears(`"id":1,"result"`)
	return p
}

// mute is a client that reads nothing after it was made.
func (d *driven) mute(name string, channels ...ahp.URI) transport.Conn {
	d.t.Helper()
	conn, err := d.Dial(name)
	if err != nil {
		d.t.Fatal(err)
	}
	p := &peer{w: d.world, conn: conn}
	p.initialize(name, channels...)
	if _, err := conn.Read(); err != nil {
		d.t.Fatal(err)
	}
	return conn
}

func (d *driven) apply(n int, title string) {
	for i := range n {
		d.h.Apply(driveSession, &ahp.SessionTitleChanged{Title: fmt.Sprint(title, i)})
		synctest.Wait()
	}
}

// returns comes back as a client that was lost.
func (d *driven) returns(name string) *peer {
	d.t.Helper()
	p := d.peer(name)
	p.ask(1, "reconnect", fmt.Sprintf(`{"channel":"ahp-root://","clientId":%q,"lastSeenServerSeq":1,"subscriptions":[%q]}`, name, driveSession))
	return p
}

// complexDrive sends a value that is within the grammar's bounds and one that is not.
func (d *driven) complexDrive(within, over string) {
	p := d.joined("a")
	p.ask(2, "ping", `{"channel":"ahp-root://","x":`+within+`}`)
	p.hears(`"id":2,"result":null`)
	d.within()
	p.ask(3, "ping", `{"channel":"ahp-root://","x":`+over+`}`)
	p.hears(`"error":{"code":-32600`)
	p.closed(transport.CodeTooBig, CloseTooLarge)
}

// conn is the host's side of the one connection there is.
func (d *driven) conn() *Conn {
	d.h.mu.Lock()
	defer d.h.mu.Unlock()
	return d.h.connsLocked()[0]
}
