package websocket_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/websocket"
)

// A host that returns every message, and a client that sends it two at once.
func Example() {
	hosts := make(chan *websocket.Conn, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("tkn") != "secret" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		c, err := websocket.Upgrade(w, r, websocket.Options{})
		if err != nil {
			return // the peer has its answer
		}
		hosts <- c // used elsewhere, so that the handler may return
	}))
	defer srv.Close()
	url := "ws" + strings.TrimPrefix(srv.URL, "http")
	ctx := context.Background()

	_, err := websocket.Dial(ctx, url, websocket.DialOptions{})
	var refused *websocket.HandshakeError
	fmt.Println("without a token:", errors.As(err, &refused), refused.Status)

	client, err := websocket.Dial(ctx, url+"/?tkn=secret", websocket.DialOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan error)
	go func() { done <- echo(<-hosts) }()
	_ = client.Write([][]byte{[]byte("one"), []byte("two")})
	for range 2 {
		m, _ := client.Read()
		fmt.Printf("%s\n", m)
	}
	_ = client.Close(transport.CodeNormal, "enough")
	fmt.Println(<-done)
	// Output:
	// without a token: true 403
	// one
	// two
	// closed by peer: 1000 normal: "enough"
}

func echo(c *websocket.Conn) error {
	for {
		m, err := c.Read()
		if err != nil {
			_ = c.Close(transport.CodeNormal, "")
			return err
		}
		if err := c.Write([][]byte{m}); err != nil {
			_ = c.Close(transport.CodeInternal, "")
			return err
		}
	}
}
