package service_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/feature/service"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/transport/websocket"
	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
)

// BenchmarkLoopback is a notification over two real WebSockets on loopback. Both
// clients cost next to nothing: one writes frames that were made before, the other
// counts bytes. So the CPU time is that of the host and the kernel. The goal is
// 1.2 µs a message of 200 bytes.
func BenchmarkLoopback(b *testing.B) {
	for _, size := range []int{200, 16 << 10} {
		b.Run(fmt.Sprint("bytes=", size), func(b *testing.B) { benchLoopback(b, size) })
	}
}

func benchLoopback(b *testing.B, size int) {
	w := newWorld(b, service.Options{}, host.Options{})
	sender, owner := dialLoopback(b, w, "sender"), dialLoopback(b, w, "owner")
	send(b, owner, `{"jsonrpc":"2.0","id":2,"method":"client/registerService","params":{"channel":"ahp-client-services://","metadata":{}}}`)
	_, rest, _ := strings.Cut(receive(b, owner), `"serviceId":"`)
	id, _, _ := strings.Cut(rest, `"`)

	msg := (&relayBench{id: id}).message(`"method":"clientService/notify",`, size)
	send(b, sender, string(msg))
	delivered := int64(len(ws.MustCompileFrame(ws.NewTextFrame([]byte(receive(b, owner))))))

	// A burst is well below the bound of the recipient's relay queue.
	burstSize := max(1, min(256, 1<<20/size))
	frame := ws.MustCompileFrame(ws.MaskFrame(ws.NewTextFrame(msg)))
	blob := []byte(strings.Repeat(string(frame), burstSize))
	b.SetBytes(int64(size))
	defer reportCPU(b)()
	for left := b.N; left > 0; left -= burstSize {
		n := min(left, burstSize)
		if _, err := sender.Write(blob[:n*len(frame)]); err != nil {
			b.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, owner, int64(n)*delivered); err != nil {
			b.Fatal(err)
		}
	}
}

// dialLoopback opens a connection whose client side is bare.
func dialLoopback(b *testing.B, w *world, name string) net.Conn {
	b.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		c, err := websocket.Upgrade(rw, r, websocket.Options{PingInterval: -1})
		if err != nil {
			b.Error(err)
			return
		}
		w.serving.Go(func() { _ = w.h.Serve(b.Context(), c, host.Local) })
	}))
	b.Cleanup(server.Close)
	c, _, _, err := ws.Dial(b.Context(), "ws"+strings.TrimPrefix(server.URL, "http"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	send(b, c, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.1.0"],"clientId":%q}}`, name))
	receive(b, c)
	return c
}

func send(b *testing.B, c net.Conn, msg string) {
	b.Helper()
	if err := wsutil.WriteClientText(c, []byte(msg)); err != nil {
		b.Fatal(err)
	}
}

func receive(b *testing.B, c net.Conn) string {
	b.Helper()
	msg, err := wsutil.ReadServerText(c)
	if err != nil {
		b.Fatal(err)
	}
	return string(msg)
}
