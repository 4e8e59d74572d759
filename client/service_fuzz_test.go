package client

import (
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// FuzzRelayed reads what a host relays. Nothing panics, and what is accepted is
// what a decoder finds there.
func FuzzRelayed(f *testing.F) {
	for _, seed := range []string{
		`{"channel":"ahp-client-services://","serviceId":"s","senderClientId":"c","method":"m","params":{"a":[1]}}`,
		`{"serviceId":"s","senderClientId":"c","method":"m"}`,
		`{"serviceId":"\u0073","senderClientId":"","method":"\ud800","params":null}`,
		`{"serviceId":1,"senderClientId":"c","method":"m"}`, `{"serviceId":"s"}`, `{}`, `[]`, `null`, `{"params":{"serviceId":"x"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, params []byte) {
		if jsonrpc.Check(params, jsonrpc.MaxDepth) != nil {
			return // the connection refuses it
		}
		in, ok := readRelayed(jsontext.Value(params))
		var p ahp.ClientServiceParams
		if !ok || ahp.Unmarshal(params, &p) != nil {
			return
		}
		if string(in.service) != p.ServiceID || string(in.sender) != p.SenderClientID || string(in.method) != p.Method {
			t.Errorf("read %s, %s, %s, want %s, %s, %s", in.service, in.sender, in.method, p.ServiceID, p.SenderClientID, p.Method)
		}
		if p.Params != nil && string(in.params) != string(p.Params) {
			t.Errorf("params %s, want %s", in.params, p.Params)
		}
	})
}

// FuzzServiceMessage sends anything. What is sent is one notification that says the
// same.
func FuzzServiceMessage(f *testing.F) {
	f.Add("s", "m", []byte(`{"a":1}`))
	f.Add(`"\`, "\u2028", []byte(`"\u0000"`))
	f.Add("", "", []byte(``))
	f.Fuzz(func(t *testing.T, id, method string, params []byte) {
		raw, err := serviceParams(&ahp.ClientServiceLimits{}, method, jsontext.Value(params))
		if err != nil {
			return
		}
		msg := append(appendServiceTail(appendServiceHead(nil, ahp.MethodClientServiceNotify, id), method, raw), '}')
		m, err := jsonrpc.Scan(msg)
		if err != nil || m.Method != ahp.MethodClientServiceNotify || m.Kind != jsonrpc.KindNotification {
			t.Fatalf("%s: %v", msg, err)
		}
		name, _ := jsonrpc.Member(m.Params, "method")
		got, _ := jsonrpc.StringValue(name)
		sent, _ := jsonrpc.Member(m.Params, "params")
		if got != method || string(sent) != string(raw) && len(params) > 0 && string(sent) != string(trimmed(raw)) {
			t.Errorf("sent %s", msg)
		}
	})
}

// trimmed is a value without the space around it.
func trimmed(raw jsontext.Value) jsontext.Value {
	wrapped := append(append([]byte(`{"v":`), raw...), '}')
	v, _ := jsonrpc.Member(wrapped, "v")
	return v
}
