package tcp

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/flow"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

const testURI = "ahp-tcp:/t1"

// TestGoldenData is the example of the protocol, which weighs 180 bytes.
func TestGoldenData(t *testing.T) {
	text := newDataText(testURI)
	msg, size := text.appendData(nil, []byte("Hello"))
	if want := `{"jsonrpc":"2.0","method":"tcp/data","params":{"channel":"ahp-tcp:/t1","data":"SGVsbG8="}}`; string(msg) != want || size != 180 {
		t.Errorf("%s of %d bytes, want %s of 180", msg, size, want)
	}
}

// TestMessagesFitTheFrame: whatever the frame limit and the URI, the fullest
// message fits, its size is what flow says, and there is room for something.
func TestMessagesFitTheFrame(t *testing.T) {
	raw := make([]byte, 200_000)
	for _, uri := range []ahp.URI{"ahp-tcp:1", testURI, ahp.TCPPrefix + string(bytes.Repeat([]byte("x"), maxURI-len(ahp.TCPPrefix)))} {
		for _, frame := range []int64{1024, 1025, 1026, 1031, 4096, 16 << 10, 256 << 10} {
			text := newDataText(uri)
			n := text.room(frame)
			if n < 1 {
				t.Fatalf("no room in %d bytes beside %d characters", frame, len(uri))
			}
			msg, size := text.appendData([]byte("before"), raw[:n])
			msg = msg[len("before"):]
			if size != flow.Size(msg) || size > frame {
				t.Errorf("frame %d, URI of %d: a message of %d bytes weighs %d, said to weigh %d", frame, len(uri), len(msg), flow.Size(msg), size)
			}
			if _, larger := text.appendData(nil, raw[:n+3]); larger <= frame {
				t.Errorf("frame %d, URI of %d: %d bytes fit, and %d are used", frame, len(uri), n+3, n)
			}
		}
	}
}

// decodeParams is what receiveData does, without a connection.
func decodeParams(d *dataText, params jsontext.Value) ([]byte, bool) {
	text, ok := d.encoded(params)
	if !ok {
		return nil, false
	}
	return decodeBoth(text)
}

// decodeBoth decodes into other memory and in place, and wants the same.
func decodeBoth(text []byte) ([]byte, bool) {
	raw, ok := decode(make([]byte, decodedLen(text)), text)
	again, okAgain := decode(text, text)
	if ok != okAgain || ok && !bytes.Equal(raw, again) {
		panic("it matters where it is decoded")
	}
	return raw, ok
}

func params(uri ahp.URI, data string) jsontext.Value {
	return jsontext.Value(fmt.Sprintf(`{"channel":%q,"data":%q}`, uri, data))
}

func TestDecode(t *testing.T) {
	text := newDataText(testURI)
	for raw, want := range map[string]string{
		`{"channel":"ahp-tcp:/t1","data":"SGVsbG8="}`:               "Hello",
		`{"data":"SGVsbG8=","channel":"ahp-tcp:/t1"}`:               "Hello",
		`{ "channel" : "ahp-tcp:/t1" , "data" : "SGVsbG8=" }`:       "Hello",
		`{"channel":"ahp-tcp:/t1","data":"SGVsbG8=","_meta":{}}`:    "Hello",
		`{"channel":"ahp-tcp:/t1","data":"SGVsbG8\u003d"}`:          "Hello",
		`{"channel":"ahp-tcp:/t1","data":"\/\/\/\/"}`:               "\xff\xff\xff",
		`{"channel":"ahp-tcp:/t1","data":"////"}`:                   "\xff\xff\xff",
		`{"channel":"ahp-tcp:/t1","data":"AA==","x":"AA=="}`:        "\x00",
		`{"channel":"ahp-tcp:/t1","data":""}`:                       "",
		`{"channel":"ahp-tcp:/t1","data":"SGVsbG8"}`:                "",
		`{"channel":"ahp-tcp:/t1","data":"SGVsbG9="}`:               "", // bits beyond the last byte
		`{"channel":"ahp-tcp:/t1","data":"AB=="}`:                   "",
		`{"channel":"ahp-tcp:/t1","data":"SGVs\nbG8="}`:             "",
		`{"channel":"ahp-tcp:/t1","data":"SGVsbG8=\r\n\r\n"}`:       "",
		`{"channel":"ahp-tcp:/t1","data":"\nSGVsbG8="}`:             "",
		`{"channel":"ahp-tcp:/t1","data":" SGVsbG8"}`:               "",
		`{"channel":"ahp-tcp:/t1","data":"SGVs=G8="}`:               "",
		`{"channel":"ahp-tcp:/t1","data":"===="}`:                   "",
		`{"channel":"ahp-tcp:/t1","data":"A==="}`:                   "",
		`{"channel":"ahp-tcp:/t1","data":"SGVsbG8=SGVsbG8="}`:       "",
		`{"channel":"ahp-tcp:/t1","data":"SGVsbG8-"}`:               "",
		`{"channel":"ahp-tcp:/t1","data":"SGVsbG8é"}`:               "",
		`{"channel":"ahp-tcp:/t1","data":7}`:                        "",
		`{"channel":"ahp-tcp:/t1"}`:                                 "",
		`{"channel":"ahp-tcp:/t1","data":"AA==","data":"SGVsbG8="}`: "\x00", // the first, as everywhere
		`{"channel":"ahp-tcp:/t1","data":"AAAA\\\\AA","x":"AAAA"}`:  "",
	} {
		got, ok := decodeParams(&text, jsontext.Value(raw))
		if ok != (want != "") || ok && string(got) != want {
			t.Errorf("%s: %q, %v, want %q", raw, got, ok, want)
		}
	}
}

// TestDecodeInPlace compares with the standard library at every length, with the
// vector code and without, and with a byte spoilt anywhere.
func TestDecodeInPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 700; n++ {
		raw := make([]byte, n)
		for i := range raw {
			raw[i] = byte(rng.Uint32())
		}
		good := base64.StdEncoding.EncodeToString(raw)
		if got, ok := decodeBoth([]byte(good)); !ok || !bytes.Equal(got, raw) {
			t.Fatalf("%d bytes: %v", n, ok)
		}
		bad := []byte(good)
		bad[rng.IntN(len(bad))] = "\n\r =-_\x00\"\xff"[rng.IntN(9)]
		if bytes.Equal(bad, []byte(good)) {
			continue
		}
		if _, ok := decodeBoth(bytes.Clone(bad)); ok {
			t.Fatalf("%q is accepted", bad)
		}
	}
}

// FuzzData: what is accepted is exactly what the standard library's strict decoder
// accepts, without the line breaks that skips.
func FuzzData(f *testing.F) {
	for _, data := range []string{"SGVsbG8=", "AA==", "AB==", "AAAA", "\n", "A\nAAA", "====", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n\n\n\n"} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want, err := base64.StdEncoding.Strict().DecodeString(string(data))
		valid := err == nil && len(want) > 0 && !bytes.ContainsAny(data, "\r\n")
		quoted, err := jsontext.AppendQuote(nil, data)
		if err != nil {
			return
		}
		for _, form := range []string{`{"channel":"ahp-tcp:/t1","data":%s}`, `{"data":%s}`} {
			p := fmt.Sprintf(form, quoted)
			if _, err := jsonrpc.Scan([]byte(`{"jsonrpc":"2.0","method":"m","params":` + p + `}`)); err != nil {
				t.Fatal(err)
			}
			text := newDataText(testURI)
			got, ok := decodeParams(&text, jsontext.Value(p))
			if ok != valid || ok && !bytes.Equal(got, want) {
				t.Errorf("%s: %q, %v, want %q, %v", p, got, ok, want, valid)
			}
		}
	})
}

// TestEncodeRoundTrip: what one side makes, the other reads.
func TestEncodeRoundTrip(t *testing.T) {
	text := newDataText(testURI)
	for _, n := range []int{1, 2, 3, 4, 31, 32, 33, 1000, 98_220} {
		raw := bytes.Repeat([]byte{0xff, 0x00, 0x80}, n)[:n]
		msg, _ := text.appendData(nil, raw)
		m, err := jsonrpc.Scan(msg)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := decodeParams(&text, m.Params); !ok || !bytes.Equal(got, raw) {
			t.Errorf("%d bytes: %v", n, ok)
		}
	}
	if got, ok := decodeParams(&text, params(testURI, "SGVsbG8=")); !ok || string(got) != "Hello" {
		t.Errorf("%q, %v", got, ok)
	}
}
