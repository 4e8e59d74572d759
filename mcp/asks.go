package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// asks are the requests a link makes of its server for itself.
type asks struct {
	prefix string // of their ids, which no client would choose

	mu      sync.Mutex
	waiting map[jsonrpc.ID]chan jsonrpc.Message
	next    uint64
	gone    bool // the server answers no more
}

var errServerGone = errors.New("the server has gone")

func newAsks() *asks {
	return &asks{
		prefix:  "causeway-" + rand.Text() + "-",
		waiting: make(map[jsonrpc.ID]chan jsonrpc.Message),
	}
}

// open makes an id and the channel its answer comes on. The channel is closed
// when the server goes.
func (a *asks) open() (jsonrpc.ID, <-chan jsonrpc.Message, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gone {
		return jsonrpc.ID{}, nil, errServerGone
	}
	a.next++
	id, err := jsonrpc.ParseID(quote(a.prefix + strconv.FormatUint(a.next, 10)))
	if err != nil {
		return jsonrpc.ID{}, nil, err
	}
	answer := make(chan jsonrpc.Message, 1)
	a.waiting[id] = answer
	return id, answer, nil
}

// answer takes a response to one of ours, also a late one. It is false for every
// other message.
func (a *asks) answer(m jsonrpc.Message) bool {
	if !strings.HasPrefix(m.ID.String(), `"`+a.prefix) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if answer := a.waiting[m.ID]; answer != nil {
		delete(a.waiting, m.ID)
		answer <- m
	}
	return true
}

func (a *asks) forget(id jsonrpc.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, id)
}

// fail ends everything that waits, now and later.
func (a *asks) fail() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone = true
	for id, answer := range a.waiting {
		delete(a.waiting, id)
		close(answer)
	}
}

// ask sends a request of our own to the server and waits for its response.
func (l *link) ask(ctx context.Context, method string, params jsontext.Value) (jsonrpc.Message, error) {
	id, answer, err := l.asks.open()
	if err != nil {
		return jsonrpc.Message{}, err
	}
	defer l.asks.forget(id)
	if err := l.toServer(jsonrpc.AppendRequest(nil, id, method, params)); err != nil {
		return jsonrpc.Message{}, err
	}
	select {
	case m, ok := <-answer:
		if !ok {
			return m, errServerGone
		}
		return m, nil
	case <-ctx.Done():
		return jsonrpc.Message{}, context.Cause(ctx)
	}
}
