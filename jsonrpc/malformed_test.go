package jsonrpc

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestMalformedMessagesAreAnsweredOnce(t *testing.T) {
	for _, frame := range malformedFrames {
		t.Run(frame.name, func(t *testing.T) {
			bubble(t, Options{Handler: scripted{}}, func(t *testing.T, p *rawPeer) {
				p.give("%s", frame.text)
				got := <-p.sent
				prefix := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,`, frame.id, frame.code)
				if !strings.HasPrefix(got, prefix) {
					t.Errorf("answered %s, want %s", got, prefix)
				}
				p.want()
				p.give(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
				p.want(`{"jsonrpc":"2.0","id":1,"result":"ping"}`)
			})
		})
	}
}

func TestBatchSaysSo(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, p *rawPeer) {
		p.give("[%s1]", strings.Repeat(`{"jsonrpc":"2.0","method":"m"},`, 9_999))
		p.want(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported"}}`)
	})
}

// Two peers that cannot read each other must not talk for ever.
func TestAnswersToMalformedMessagesAreNotAnswered(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, p *rawPeer) {
		for _, frame := range malformedFrames {
			if frame.id == "null" {
				answer := AppendError(nil, ID{}, &Error{Code: frame.code, Message: frame.name})
				p.give("%s", answer)
			}
		}
		p.give(`{"jsonrpc":"2.0","error":{"code":-32700,"message":"no id at all"}}`)
		p.want()
	})
}

func TestTenthMalformedMessageWithinAMinute(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, p *rawPeer) {
		for i := range MaxMalformed {
			err := p.Receive([]byte(`{`))
			if last := i == MaxMalformed-1; errors.Is(err, ErrTooManyMalformed) != last || (err != nil) != last {
				t.Errorf("message %d: %v", i+1, err)
			}
		}
		if len(p.sent) != MaxMalformed {
			t.Errorf("%d answers, want one each", len(p.sent))
		}
	})
}

func TestMalformedMessagesFarApart(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, p *rawPeer) {
		for range 3 {
			for range MaxMalformed - 1 {
				p.give(`{`)
			}
			time.Sleep(MalformedWindow) // the clock of the bubble
		}
		if got := p.Stats().Malformed; got != 3*(MaxMalformed-1) {
			t.Errorf("counted %d", got)
		}
	})
}

func TestTooComplexMessage(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, p *rawPeer) {
		err := p.Receive([]byte(nest(MaxDepth + 1)))
		if !errors.Is(err, ErrTooComplex) {
			t.Errorf("got %v, want ErrTooComplex", err)
		}
		p.want(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"message is nested too deeply"}}`)
	})
}
