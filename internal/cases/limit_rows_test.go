package cases

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/host/endpoint"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/websocket"
)

// carrierDrives take the limits of a WebSocket to their bound.
var carrierDrives = map[string]struct {
	socket websocket.Options
	cause  string // of the close, as it is counted
	run    func(t *testing.T, w *world)
}{
	"message-bytes": {websocket.Options{MaxMessageBytes: 1024}, "too-large", func(t *testing.T, w *world) {
		p, _ := w.greeted("a")
		ping := `{"jsonrpc":"2.0","id":2,"method":"ping","params":{"channel":"ahp-root://","x":""}}`
		fill := func(size int) string {
			return strings.Replace(ping, `""`, `"`+strings.Repeat("x", size-len(ping))+`"`, 1)
		}
		p.say(fill(1024))
		p.answer("2")
		if n := w.closes("too-large"); n != 0 {
			t.Errorf("%v closes within the bound", n)
		}
		p.say(fill(1025))
		_, err := p.conn.Read()
		var end *transport.CloseError
		if !errors.As(err, &end) || end.Code != transport.CodeTooBig {
			t.Errorf("the sender read %v, want a close with 1009", err)
		}
	}},
	"ping-interval": {websocket.Options{PingInterval: 10 * time.Second}, "silent", func(t *testing.T, w *world) {
		p, _ := w.greeted("a")
		w.link("a").Stall()
		time.Sleep(19 * time.Second)
		if n := w.closes("silent"); n != 0 {
			t.Errorf("%v closes within the bound", n)
		}
		time.Sleep(2 * time.Second)
		w.link("a").Resume()
		if _, err := p.conn.Read(); err == nil {
			t.Error("the client is not told")
		}
	}},
	"write-timeout": {websocket.Options{WriteTimeout: 10 * time.Second, PingInterval: time.Hour}, "silent", func(t *testing.T, w *world) {
		chat := w.chat(w.client("author"))
		p, _ := w.greeted("a", chat.URI())
		w.link("a").Stall()
		w.turn(chat, "4096") // more than the network holds
		time.Sleep(9 * time.Second)
		if n := w.closes("silent"); n != 0 {
			t.Errorf("%v closes within the bound", n)
		}
		time.Sleep(2 * time.Second)
		w.link("a").Resume()
		for {
			if _, err := p.conn.Read(); err != nil {
				return
			}
		}
	}},
}

// The limits of a carrier hold, and are counted as causes of closes.
func TestEveryLimitOfACarrierIsDrivenToItsBound(t *testing.T) {
	o := endpoint.DefaultLimits
	for _, row := range endpoint.Rows(&o) {
		t.Run(row.Name, func(t *testing.T) {
			d, ok := carrierDrives[row.Name]
			if !ok {
				t.Fatal("the limit has no drive")
			}
			if want := `causeway_closes_total{cause="` + d.cause + `"}`; row.Metric() != want {
				t.Fatalf("it is counted by %s, not %s", row.Metric(), want)
			}
			bubbleOver(t, talker(kilobytes), host.Options{}, d.socket, func(t *testing.T, w *world) {
				d.run(t, w)
				time.Sleep(time.Second)
				if n := w.closes(d.cause); n != 1 {
					t.Errorf("%v closes %s, want 1", n, d.cause)
				}
			})
		})
	}
}
