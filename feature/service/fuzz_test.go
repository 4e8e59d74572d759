package service

import (
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// FuzzMetadata: what is accepted is within its bounds, an object that every strict
// decoder reads, and the same when it is registered again.
func FuzzMetadata(f *testing.F) {
	f.Add(`{"metadata":{"protocol":"git-object-reader","version":1,"label":"Remote Git"}}`)
	f.Add(`{"metadata":{"a":{"b":[1,2.50,"\ud83d","\u00e9"]},"a ":null}}`)
	f.Add(`{"metadata":{"a":1,"\u0061":2}}`)
	f.Add(`{"channel":"ahp-client-services://","metadata":{"x":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}}`)
	f.Add(`{"metadata":{"big":"` + strings.Repeat("x", 9000) + `"}}`)
	feature := New(Options{})
	f.Fuzz(func(t *testing.T, text string) {
		m, err := jsonrpc.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":` + text + `}`))
		if err != nil {
			return
		}
		metadata, err := feature.readMetadata(m.Params)
		if err != nil {
			return
		}
		if len(metadata) > DefaultLimits.MetadataBytes || metadata.Kind() != '{' || depth(metadata) > DefaultLimits.Depth {
			t.Fatalf("accepted %d bytes, %d deep: %s", len(metadata), depth(metadata), metadata)
		}
		entry := ahp.ClientServicesState{Services: []ahp.ClientService{{ServiceID: "x", Metadata: metadata}}}
		if _, err := ahp.Marshal(&entry); err != nil {
			t.Fatalf("%s cannot be shown to an observer: %v", metadata, err)
		}
		again, err := feature.readMetadata(jsontext.Value(`{"metadata":` + string(metadata) + `}`))
		if err != nil || string(again) != string(metadata) {
			t.Fatalf("%s becomes %s: %v", metadata, again, err)
		}
	})
}

// FuzzScan: what is forwarded is one valid message that says what was sent.
func FuzzScan(f *testing.F) {
	f.Add(`{"channel":"ahp-client-services://","serviceId":"x","method":"m","params":{"a":[1]}}`)
	f.Add(`{"serviceId":"\u0078","method":"\"m\\","params":"}"}`)
	f.Add(`{"serviceId":"x","method":"m","method":"n","timeoutMs":1}`)
	f.Add(`{"serviceId":"x","method":"m","params":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`)
	feature := New(Options{})
	f.Fuzz(func(t *testing.T, text string) {
		in, err := jsonrpc.Scan([]byte(`{"jsonrpc":"2.0","method":"m","params":` + text + `}`))
		if err != nil {
			return
		}
		m, bad := feature.scan(in.Params)
		if bad != nil {
			return
		}
		if depth(m.params) > DefaultLimits.Depth {
			t.Fatalf("params are %d deep", depth(m.params))
		}
		sent := []byte(notificationHead + paramsHead + "id" + paramsSender + `"sender","method":` + string(m.method) + `,"params":` + string(m.params) + `}}`)
		out, err := jsonrpc.Scan(sent)
		if err != nil {
			t.Fatalf("%s is forwarded as %s: %v", text, sent, err)
		}
		if params, _ := jsonrpc.Member(out.Params, "params"); string(params) != string(m.params) {
			t.Fatalf("params %s arrive as %s", m.params, params)
		}
	})
}

func TestDeeperAgreesWithDepth(t *testing.T) {
	for _, text := range []string{
		`1`, `[]`, `[[]]`, `{"a":[{"b":[]}]}`, `"[[[[[["`, `["[","\"[","\\",[1]]`, `[[],[],[],[],[],[]]`, strings.Repeat("[", 9) + strings.Repeat("]", 9),
	} {
		for limit := range 10 {
			if got, want := deeper([]byte(text), limit), depth([]byte(text)) > limit; got != want {
				t.Errorf("deeper(%s, %d) = %v, want %v", text, limit, got, want)
			}
		}
	}
}

func TestWithoutRelay(t *testing.T) {
	for data, want := range map[string]string{
		``: ``, `null`: `null`, `[{"relay":1}]`: `[{"relay":1}]`, `{"a":{"relay":1}}`: `{"a":{"relay":1}}`,
		`{"relay":1}`: `{}`, `{"a":1,"relay":{"x":[]},"b\n":2}`: `{"a":1,"b\n":2}`, `{"\u0072elay":1,"relay":2,"c":"relay"}`: `{"c":"relay"}`,
	} {
		if got, _ := withoutRelay([]byte(data)); string(got) != want {
			t.Errorf("%s: got %s, want %s", data, got, want)
		}
	}
}
