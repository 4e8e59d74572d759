package jsonrpc

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// smallMessage has the size and shape of most traffic: 200 bytes.
const smallMessage = `{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-chat:/0b9d7b1e-7c1f-4f0e-9a53-2f1a4f0c77aa","action":{"type":"chat/delta","turnId":"t1","partId":"p1","content":"words "},"serverSeq":123456}}`

func BenchmarkScan(b *testing.B) {
	for name, text := range map[string]string{
		"200B":       smallMessage,
		"response":   `{"jsonrpc":"2.0","id":123456,"result":{"ok":true}}`,
		"64KiB_data": `{"jsonrpc":"2.0","method":"tcp/data","params":{"channel":"ahp-tcp:/1","data":"` + strings.Repeat("QUJD", 16<<10) + `"}}`,
		"64KiB_list": `{"jsonrpc":"2.0","method":"n","params":[` + strings.Repeat(`{"a":12345,"b":"text"},`, 2800) + `0]}`,
	} {
		b.Run(name, func(b *testing.B) {
			data := []byte(text)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Scan(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkScanPeer is the same message through a JSON library, for the ratio.
func BenchmarkScanPeer(b *testing.B) {
	data := []byte(smallMessage)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		var m struct {
			Version string         `json:"jsonrpc"`
			Method  string         `json:"method"`
			Params  jsontext.Value `json:"params"`
		}
		if err := json.Unmarshal(data, &m); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRoute is what a host does before it knows whom a message concerns.
func BenchmarkRoute(b *testing.B) {
	data := []byte(smallMessage)
	routes := map[string]int{"ahp-chat:/0b9d7b1e-7c1f-4f0e-9a53-2f1a4f0c77aa": 1}
	b.ReportAllocs()
	for b.Loop() {
		m, err := Scan(data)
		if err != nil {
			b.Fatal(err)
		}
		channel, _ := Member(m.Params, "channel")
		text, _ := StringBytes(channel)
		if routes[string(text)] != 1 {
			b.Fatal("no route")
		}
	}
}

// BenchmarkPick is what a client does to an envelope before it decodes it.
func BenchmarkPick(b *testing.B) {
	m, err := Scan([]byte(smallMessage))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var channel, action, serverSeq jsontext.Value
		EachMember(m.Params, func(name []byte, value jsontext.Value) bool {
			switch string(name) {
			case "channel":
				channel = value
			case "action":
				action = value
			case "serverSeq":
				serverSeq = value
			}
			return true
		})
		if channel == nil || action == nil || serverSeq == nil {
			b.Fatal("a member is missing")
		}
	}
}

func BenchmarkReceiveNotification(b *testing.B) {
	c := NewConn(context.Background(), Options{Send: func([]byte) error { return nil }})
	defer c.Close(nil)
	data := []byte(smallMessage)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Receive(data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCall is a whole round trip without a carrier.
func BenchmarkCall(b *testing.B) {
	var ours, theirs *Conn
	ours = NewConn(context.Background(), Options{Send: func(msg []byte) error { return theirs.Receive(msg) }})
	theirs = NewConn(context.Background(), Options{
		Send:    func(msg []byte) error { return ours.Receive(msg) },
		Handler: handlerFuncs{request: func(context.Context, Message) Reply { return Reply{} }},
	})
	defer ours.Close(nil)
	defer theirs.Close(nil)
	params := jsontext.Value(`{"channel":"ahp-root://"}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := ours.Call(context.Background(), "ping", params, nil); err != nil {
			b.Fatal(err)
		}
	}
}
