package client_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/flow"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// The tests here have a host that is the test itself; those against the real host
// are in tcp_world_test.go.

// tunnel is a TCP connection of a client whose host is the test.
type tunnel struct {
	*scripted
	t    *testing.T
	c    *client.Client
	conn *client.TCPConn
	uri  string
}

const noLimits = `{"windowBytes":4194304,"maximumFrameBytes":262144}`

// tunnelBubble runs a test with a connection that was just opened. The limits are
// the host's answer: what the client receives, and the host.
func tunnelBubble(t *testing.T, clientReceive, hostReceive string, test func(t *testing.T, u *tunnel)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		hosts := make(chan *scripted, 1)
		c := client.New(t.Context(), scriptedHost(hosts), client.Options{ClientID: "me"})
		defer c.Close()
		u := &tunnel{scripted: <-hosts, t: t, c: c}
		u.welcomeTCP(t)
		if err := c.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		u.open(clientReceive, hostReceive)
		test(t, u)
	})
}

func (h *scripted) welcomeTCP(t testing.TB) {
	t.Helper()
	h.answer(t, "initialize", `{"protocolVersion":"1.1.0","serverSeq":0,"snapshots":[],"tcpConnections":{}}`)
}

// dialTCP dials in the background.
func dialTCP(t *testing.T, c *client.Client, o client.TCPOptions) (conn <-chan *client.TCPConn, failed <-chan error) {
	conns, errs := make(chan *client.TCPConn, 1), make(chan error, 1)
	go func() {
		conn, err := c.DialTCP(t.Context(), "db", 5432, o)
		conns <- conn
		errs <- err
	}()
	return conns, errs
}

func (u *tunnel) open(clientReceive, hostReceive string) {
	u.t.Helper()
	conn, _ := dialTCP(u.t, u.c, client.TCPOptions{})
	u.uri = u.created()
	u.answer(u.t, "subscribe", `{"flowControl":{"clientReceive":`+clientReceive+`,"hostReceive":`+hostReceive+`}}`)
	u.snapshot()
	u.conn = <-conn
	if u.conn == nil {
		u.t.Fatal("not opened")
	}
	u.wantCredit() // for the snapshot
}

// created answers the createTcpConnection and returns the URI of the channel.
func (h *scripted) created() string {
	m := []byte(<-h.messages)
	params, _ := jsonrpc.Member(m, "params")
	channel, _ := jsonrpc.Member(params, "channel")
	id, _ := jsonrpc.Member(m, "id")
	h.send(`{"jsonrpc":"2.0","id":%s,"result":null}`, id)
	uri, _ := jsonrpc.StringValue(channel)
	return uri
}

func (u *tunnel) snapshot() {
	u.send(`{"jsonrpc":"2.0","method":"channel/snapshot","params":{"channel":%q,"snapshot":{"resource":%q,"state":{},"fromSeq":0}}}`, u.uri, u.uri)
}

func (u *tunnel) data(text string) {
	u.send(`{"jsonrpc":"2.0","method":"tcp/data","params":{"channel":%q,"data":%q}}`, u.uri, base64.StdEncoding.EncodeToString([]byte(text)))
}

func (u *tunnel) control(method string) {
	u.send(`{"jsonrpc":"2.0","method":%q,"params":{"channel":%q}}`, method, u.uri)
}

func (u *tunnel) credit(consumed int64) {
	u.send(`{"jsonrpc":"2.0","method":"channel/credit","params":{"channel":%q,"consumedBytes":%d}}`, u.uri, consumed)
}

// wantData expects a tcp/data and returns its size in the window.
func (u *tunnel) wantData(text string) int64 {
	u.t.Helper()
	m := `{"jsonrpc":"2.0","method":"tcp/data","params":{"channel":"` + u.uri + `","data":"` +
		base64.StdEncoding.EncodeToString([]byte(text)) + `"}}`
	u.want(u.t, m)
	return flow.Size([]byte(m))
}

func (u *tunnel) wantControl(methods ...string) {
	u.t.Helper()
	for _, method := range methods {
		u.want(u.t, `{"jsonrpc":"2.0","method":"`+method+`","params":{"channel":"`+u.uri+`"}}`)
	}
}

// wantSilence expects that the client says nothing for a while.
func (u *tunnel) wantSilence() {
	u.t.Helper()
	time.Sleep(time.Second)
	synctest.Wait()
	select {
	case m, ok := <-u.messages:
		u.t.Errorf("received %s (%v), want silence", m, ok)
	default:
	}
}

// wantCredit expects the one credit for everything sent so far.
func (u *tunnel) wantCredit() {
	u.t.Helper()
	if m := u.next(u.t); !strings.Contains(m, "channel/credit") {
		u.t.Errorf("received %s, want a credit", m)
	}
}

func (u *tunnel) wantRead(want string) {
	u.t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(u.conn, got); err != nil || string(got) != want {
		u.t.Errorf("read %q, %v, want %q", got, err, want)
	}
}

func TestTCPOpeningOnTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := make(chan *scripted, 1)
		c := client.New(t.Context(), scriptedHost(hosts), client.Options{ClientID: "me"})
		defer c.Close()
		h := <-hosts
		h.welcomeTCP(t)
		if err := c.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		conn, _ := dialTCP(t, c, client.TCPOptions{})
		create := h.next(t)
		uri := ahp.TCPPrefix + strings.Split(strings.Split(create, ahp.TCPPrefix)[1], `"`)[0]
		if want := `{"jsonrpc":"2.0","id":2,"method":"createTcpConnection","params":{"channel":"` + uri + `","host":"db","port":5432}}`; create != want {
			t.Errorf("received %s\n    want %s", create, want)
		}
		h.send(`{"jsonrpc":"2.0","id":2,"result":null}`)
		h.want(t, `{"jsonrpc":"2.0","id":3,"method":"subscribe","params":{"channel":"`+uri+`","flowControl":{"receive":`+noLimits+`}}}`)
		h.send(`{"jsonrpc":"2.0","id":3,"result":{"flowControl":{"clientReceive":%s,"hostReceive":%s}}}`, noLimits, noLimits)
		got := <-conn
		if got.RemoteAddr().String() != "db:5432" || got.RemoteAddr().Network() != "tcp" || got.LocalAddr().String() != uri {
			t.Errorf("addresses %v, %v", got.RemoteAddr(), got.LocalAddr())
		}
	})
}

// AHP core, 13 "Data": the Hello message is 180 bytes large with a URI of eleven
// characters; the data starts at once, without waiting for anything.
func TestTCPDataOnTheWire(t *testing.T) {
	tunnelBubble(t, noLimits, noLimits, func(t *testing.T, u *tunnel) {
		if _, err := io.WriteString(u.conn, "Hello"); err != nil {
			t.Fatal(err)
		}
		if got, want := u.wantData("Hello"), 180+2*int64(len(u.uri)-11); got != want {
			t.Errorf("size %d, want %d", got, want)
		}
		u.data("Hi")
		u.wantRead("Hi")
		sent, received := u.conn.Transferred()
		if sent != 5 || received != 2 {
			t.Errorf("transferred %d and %d", sent, received)
		}
	})
}

func TestTCPRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		code int
		want error
	}{
		"denied":      {ahp.CodePermissionDenied, ahp.ErrPermissionDenied},
		"not open":    {ahp.CodeTCPConnectionOpenFailed, ahp.ErrTCPConnectionOpenFailed},
		"in use":      {ahp.CodeAlreadyExists, ahp.ErrAlreadyExists},
		"not a place": {int(jsonrpc.CodeInvalidParams), jsonrpc.ErrInvalidParams},
	} {
		t.Run(name, func(t *testing.T) {
			tunnelBubble(t, noLimits, noLimits, func(t *testing.T, u *tunnel) {
				_, failed := dialTCP(t, u.c, client.TCPOptions{})
				u.fail(t, "createTcpConnection", test.code, "no")
				err := <-failed
				wantErr(t, "dial", err, test.want)
				var op *net.OpError
				if !errors.As(err, &op) || op.Addr.String() != "db:5432" {
					t.Errorf("error %v does not say where", err)
				}
				u.wantSilence()
			})
		})
	}
}

func TestTCPIsNotAskedOfAHostWithoutIt(t *testing.T) {
	scriptedBubble(t, func(t *testing.T, c *client.Client, h *scripted, _ chan *scripted) {
		_, err := c.DialTCP(t.Context(), "db", 5432, client.TCPOptions{})
		wantErr(t, "dial", err, client.ErrNoTCP)
		synctest.Wait()
		if len(h.messages) > 0 {
			t.Errorf("the host was asked: %s", <-h.messages)
		}
	})
}

// AHP core, 13 "Subscribe": ordinary delivery of a TCP channel is a fault, and
// limits above those offered are one.
func TestTCPSubscribeMustBeWindowed(t *testing.T) {
	for name, result := range map[string]string{
		"ordinary": `{"snapshot":{"resource":"x","state":{},"fromSeq":0}}`,
		"raised":   `{"flowControl":{"clientReceive":{"windowBytes":4194305,"maximumFrameBytes":1024},"hostReceive":` + noLimits + `}}`,
		"tiny":     `{"flowControl":{"clientReceive":` + noLimits + `,"hostReceive":{"windowBytes":0,"maximumFrameBytes":1024}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			tunnelBubble(t, noLimits, noLimits, func(t *testing.T, u *tunnel) {
				_, failed := dialTCP(t, u.c, client.TCPOptions{})
				u.uri = u.created()
				u.answer(t, "subscribe", result)
				if err := <-failed; err == nil {
					t.Error("it was accepted")
				}
				u.wantControl("unsubscribe")
			})
		})
	}
}

// A creation that was given up is cancelled, and unsubscribed should it have
// succeeded meanwhile.
func TestTCPDialCancelled(t *testing.T) {
	tunnelBubble(t, noLimits, noLimits, func(t *testing.T, u *tunnel) {
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := u.c.DialTCP(ctx, "slow", 1, client.TCPOptions{})
			failed <- err
		}()
		create := u.next(t)
		cancel()
		wantErr(t, "dial", <-failed, context.Canceled)
		if m := u.next(t); !strings.Contains(m, "$/cancelRequest") {
			t.Errorf("received %s", m)
		}
		u.uri = ahp.TCPPrefix + strings.Split(strings.Split(create, ahp.TCPPrefix)[1], `"`)[0]
		u.wantControl("unsubscribe")
	})
}

func TestTCPEndsInOrder(t *testing.T) {
	tunnelBubble(t, noLimits, noLimits, func(t *testing.T, u *tunnel) {
		u.data("last words")
		u.control("tcp/eof")
		synctest.Wait()
		if got, err := io.ReadAll(u.conn); string(got) != "last words" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
		u.wantCredit()
		if _, err := io.WriteString(u.conn, "answer"); err != nil { // the other direction goes on
			t.Fatal(err)
		}
		u.wantData("answer")
		if err := u.conn.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		u.wantControl("tcp/eof", "unsubscribe")
		if _, err := u.conn.Write([]byte("x")); err == nil {
			t.Error("a write after the end was accepted")
		}
		_ = u.conn.Close()
		u.wantSilence()
	})
}

// Case 53: an end in one direction means nothing for the other.
func TestTCPHalfCloseOfWriting(t *testing.T) {
	tunnelBubble(t, noLimits, noLimits, func(t *testing.T, u *tunnel) {
		_ = u.conn.CloseWrite()
		u.wantControl("tcp/eof")
		u.data("still here")
		u.wantRead("still here")
		u.wantCredit()
		u.control("tcp/eof")
		u.wantControl("unsubscribe")
		if n, err := u.conn.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("read %d, %v", n, err)
		}
	})
}

func TestTCPResetByTheHost(t *testing.T) {
	tunnelBubble(t, noLimits, noLimits, func(t *testing.T, u *tunnel) {
		u.data("discarded")
		u.control("tcp/reset")
		synctest.Wait()
		_, err := u.conn.Read(make([]byte, 9))
		wantErr(t, "read", err, client.ErrReset)
		wantErr(t, "read", err, syscall.ECONNRESET)
		_, err = u.conn.Write([]byte("x"))
		wantErr(t, "write", err, client.ErrReset)
		u.wantControl("unsubscribe")
		if err := u.conn.Close(); err != nil {
			t.Error(err)
		}
		u.wantSilence()
	})
}

func TestTCPAbort(t *testing.T) {
	for name, abort := range map[string]func(*client.TCPConn){
		"abort":  (*client.TCPConn).Abort,
		"linger": func(c *client.TCPConn) { _ = c.SetLinger(0); _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			tunnelBubble(t, noLimits, noLimits, func(t *testing.T, u *tunnel) {
				abort(u.conn)
				u.wantControl("tcp/reset", "unsubscribe")
				_, err := u.conn.Read(make([]byte, 1))
				wantErr(t, "read", err, net.ErrClosed)
				u.wantSilence()
			})
		})
	}
}

// A close as sockets close: what was written arrives, then the end; data that
// nobody will read resets.
func TestTCPClose(t *testing.T) {
	t.Run("in order", func(t *testing.T) {
		tunnelBubble(t, noLimits, noLimits, func(t *testing.T, u *tunnel) {
			_, _ = io.WriteString(u.conn, "bye")
			_ = u.conn.Close()
			u.wantData("bye")
			u.wantControl("tcp/eof")
			u.control("tcp/eof")
			u.wantControl("unsubscribe")
		})
	})
	t.Run("with data unread", func(t *testing.T) {
		tunnelBubble(t, noLimits, noLimits, func(t *testing.T, u *tunnel) {
			u.data("unread")
			synctest.Wait()
			_ = u.conn.Close()
			u.wantControl("tcp/reset", "unsubscribe")
		})
	})
	t.Run("with data on its way", func(t *testing.T) {
		tunnelBubble(t, noLimits, noLimits, func(t *testing.T, u *tunnel) {
			_ = u.conn.Close()
			u.wantControl("tcp/eof")
			u.data("unread")
			u.wantControl("tcp/reset", "unsubscribe")
		})
	})
	t.Run("the other end never ends", func(t *testing.T) {
		tunnelBubble(t, noLimits, noLimits, func(t *testing.T, u *tunnel) {
			_ = u.conn.Close()
			u.wantControl("tcp/eof")
			u.wantSilence()
			u.wantControl("tcp/reset", "unsubscribe") // ten seconds later
		})
	})
}

// Case 43: a writer that waits for credit is woken by every end there is.
func TestTCPWriterWaitsForCredit(t *testing.T) {
	const one = `{"windowBytes":1,"maximumFrameBytes":1024}`
	for name, test := range map[string]struct {
		end  func(u *tunnel)
		want error
	}{
		"reset":    {func(u *tunnel) { u.control("tcp/reset") }, client.ErrReset},
		"loss":     {func(u *tunnel) { u.close() }, client.ErrConnectionLost},
		"close":    {func(u *tunnel) { _ = u.conn.Close() }, net.ErrClosed},
		"deadline": {func(u *tunnel) { _ = u.conn.SetWriteDeadline(time.Now()) }, os.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			tunnelBubble(t, noLimits, one, func(t *testing.T, u *tunnel) {
				text := strings.Repeat("x", 5000)
				var written int
				failed := make(chan error, 1)
				go func() {
					n, err := io.WriteString(u.conn, text)
					written = n
					failed <- err
				}()
				first := flow.Base64Payload(1024, 2*int64(len(u.uri)+71))
				size := u.wantData(text[:first])
				u.wantSilence() // one message crosses the window of one byte
				u.credit(size)
				u.wantData(text[:first])
				u.wantSilence()
				start := time.Now()
				test.end(u)
				wantErr(t, "write", <-failed, test.want)
				if took := time.Since(start); took > 100*time.Millisecond {
					t.Errorf("woken after %v", took)
				}
				if written < 2*first || written > 3*first {
					t.Errorf("wrote %d of messages of %d", written, first)
				}
			})
		})
	}
}

// The end of writing is data and needs credit, like any other (AHP core, 12.2).
func TestTCPEndWaitsForCredit(t *testing.T) {
	tunnelBubble(t, noLimits, `{"windowBytes":1,"maximumFrameBytes":1024}`, func(t *testing.T, u *tunnel) {
		_, _ = io.WriteString(u.conn, "x")
		size := u.wantData("x")
		_ = u.conn.CloseWrite()
		u.wantSilence()
		u.credit(size)
		u.wantControl("tcp/eof")
		u.wantSilence()
	})
}

// Case 49: credit is for what was read, not for what has arrived.
func TestTCPCreditFollowsTheReader(t *testing.T) {
	tunnelBubble(t, `{"windowBytes":4096,"maximumFrameBytes":4096}`, noLimits, func(t *testing.T, u *tunnel) {
		u.data(strings.Repeat("a", 1000))
		u.data(strings.Repeat("b", 500))
		u.wantSilence()
		u.wantRead(strings.Repeat("a", 1000))
		u.wantRead(strings.Repeat("b", 499))
		u.wantRead("b")
		u.wantCredit()
		u.wantSilence()
	})
}

// Every breach of the rules ends the connection, visibly at both ends.
func TestTCPViolations(t *testing.T) {
	for name, test := range map[string]struct {
		breach func(u *tunnel)
		why    error
	}{
		"not base64":         {func(u *tunnel) { u.raw("tcp/data", `"data":"####"`) }, nil},
		"line end in base64": {func(u *tunnel) { u.raw("tcp/data", `"data":"SGVs\nbG8="`) }, nil},
		"no padding":         {func(u *tunnel) { u.raw("tcp/data", `"data":"SGVsbG8"`) }, nil},
		"trailing bits":      {func(u *tunnel) { u.raw("tcp/data", `"data":"SGVsbG9="`) }, nil},
		"empty":              {func(u *tunnel) { u.raw("tcp/data", `"data":""`) }, nil},
		"not a string":       {func(u *tunnel) { u.raw("tcp/data", `"data":7`) }, nil},
		"data after the end": {func(u *tunnel) { u.control("tcp/eof"); u.data("x") }, nil},
		"frame too large":    {func(u *tunnel) { u.data(strings.Repeat("x", 4096)) }, flow.FrameTooLarge},
		"window exceeded": {func(u *tunnel) {
			for range 10 {
				u.data(strings.Repeat("x", 300))
			}
		}, flow.WindowExceeded},
		"credit beyond sent":  {func(u *tunnel) { u.credit(4) }, flow.CreditBeyondSent},
		"credit not a number": {func(u *tunnel) { u.raw("channel/credit", `"consumedBytes":"1"`) }, nil},
		"empty piece":         {func(u *tunnel) { u.raw("channel/frame", `"data":""`) }, flow.PieceEmpty},
		"interrupted message": {func(u *tunnel) { u.raw("channel/frame", `"data":"{"`); u.data("x") }, flow.MessageInterrupted},
		"foreign snapshot":    {func(u *tunnel) { u.raw("channel/snapshot", `"snapshot":{"resource":"x","state":{},"fromSeq":0}`) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tunnelBubble(t, `{"windowBytes":4096,"maximumFrameBytes":4096}`, noLimits, func(t *testing.T, u *tunnel) {
				test.breach(u)
				synctest.Wait()
				_, err := io.ReadAll(u.conn)
				wantErr(t, "read", err, client.ErrReset)
				if test.why != nil {
					wantErr(t, "read", err, test.why)
				}
				u.wantControl("tcp/reset", "unsubscribe")
				u.wantSilence()
			})
		})
	}
}

func (u *tunnel) raw(method, params string) {
	u.send(`{"jsonrpc":"2.0","method":%q,"params":{"channel":%q,%s}}`, method, u.uri, params)
}

// What is not known is counted and passed over (case 50), and base64 may be
// spelled with escapes.
func TestTCPUnknownsAndFrames(t *testing.T) {
	tunnelBubble(t, `{"windowBytes":1,"maximumFrameBytes":4096}`, noLimits, func(t *testing.T, u *tunnel) {
		u.raw("tcp/fromTheFuture", `"x":1`)
		u.wantCredit()
		u.control("channel/ready")
		u.wantSilence()
		u.raw("tcp/data", `"data":"\u002f/\/\/"`)
		u.wantRead("\xff\xff\xff")
		u.wantCredit()
		u.raw("channel/frame", `"data":"{\"jsonrpc\":\"2.0\",\"method\":\"tcp/data\",\"params\":{\"channel\":\"`+u.uri+`\",\"data\":\""`)
		u.wantCredit()
		u.raw("channel/frame", `"data":"SGVsbG8=\"}}","final":true`)
		u.wantCredit()
		u.wantRead("Hello")
	})
}

// Connection loss ends every TCP connection; nothing of them is resumed, and a new
// one works at once (AHP core, 13 "Connection loss").
func TestTCPConnectionLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := make(chan *scripted, 1)
		c := client.New(t.Context(), scriptedHost(hosts), client.Options{ClientID: "me"})
		defer c.Close()
		u := &tunnel{scripted: <-hosts, t: t, c: c}
		u.welcomeTCP(t)
		_ = c.Ready(t.Context())
		u.open(noLimits, noLimits)
		u.data("lost")
		old := u.conn
		u.close()
		u.scripted = <-hosts
		_, err := old.Read(make([]byte, 1))
		wantErr(t, "read", err, client.ErrConnectionLost)
		u.want(t, `{"jsonrpc":"2.0","id":1,"method":"reconnect","params":{"channel":"ahp-root://","clientId":"me","lastSeenServerSeq":0,"subscriptions":[]}}`)
		_, err = c.DialTCP(t.Context(), "db", 5432, client.TCPOptions{})
		wantErr(t, "dial while reconnecting", err, client.ErrConnectionLost)
		u.send(`{"jsonrpc":"2.0","id":1,"result":{"type":"replay","actions":[],"missing":[]}}`)
		_ = c.Ready(t.Context())
		u.open(noLimits, noLimits)
		u.data("new")
		u.wantRead("new")
		if err := old.Close(); err != nil {
			t.Error(err)
		}
	})
}
