package tcp

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/flow"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/go-json-experiment/json/jsontext"
)

// far is a client that is strict: whatever the host may not do fails the test.
type far struct {
	w    *world
	t    testing.TB
	conn transport.Conn

	writing chan struct{} // a token: one message at a time
	mu      sync.Mutex
	lastID  uint64
	answers map[uint64]chan answer
	streams map[ahp.URI]*farStream
	left    map[ahp.URI]bool        // unsubscribed: what crosses that may still come
	other   func(m jsonrpc.Message) // takes what is about other channels
	over    bool
}

type answer struct {
	result jsontext.Value
	err    error
}

// errCut is what a stream reports whose connection is gone.
var errCut = errors.New("the connection is gone")

// errReset is what a stream reports after tcp/reset.
var errReset = errors.New("reset")

// dial connects and initializes a client over a carrier.
func (w *world) far(conn transport.Conn) *far {
	w.t.Helper()
	f := &far{
		w: w, t: w.t, conn: conn, writing: make(chan struct{}, 1),
		answers: make(map[uint64]chan answer), streams: make(map[ahp.URI]*farStream), left: make(map[ahp.URI]bool),
	}
	w.serving.Go(f.read)
	result, err := f.call(ahp.MethodInitialize, `{"channel":"ahp-root://","protocolVersions":["1.1.0"],"clientId":"far"}`)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, ok := jsonrpc.Member(result, "tcpConnections"); !ok {
		w.t.Fatalf("the host does not advertise TCP: %s", result)
	}
	return f
}

func (f *far) send(msg []byte) error {
	f.writing <- struct{}{}
	defer func() { <-f.writing }()
	return f.conn.Write([][]byte{msg})
}

func (f *far) notify(method, params string) error {
	return f.send(jsonrpc.AppendNotification(nil, method, jsontext.Value(params)))
}

func (f *far) call(method, params string) (jsontext.Value, error) {
	f.mu.Lock()
	if f.over {
		f.mu.Unlock()
		return nil, errCut
	}
	f.lastID++
	id, ch := f.lastID, make(chan answer, 1)
	f.answers[id] = ch
	f.mu.Unlock()
	if err := f.send(jsonrpc.AppendRequest(nil, jsonrpc.NumberID(id), method, jsontext.Value(params))); err != nil {
		return nil, err
	}
	a := <-ch
	return a.result, a.err
}

func (f *far) read() {
	for {
		data, err := f.conn.Read()
		if err != nil {
			f.cut()
			return
		}
		m, err := jsonrpc.Scan(data)
		if err != nil {
			f.t.Errorf("the host sent %q: %v", data, err)
			continue
		}
		if m.Kind == jsonrpc.KindResponse {
			f.answered(m)
			continue
		}
		f.mu.Lock()
		raw, _ := jsonrpc.Member(m.Params, "channel")
		uri, _ := jsonrpc.StringValue(raw)
		s, left, other := f.streams[uri], f.left[uri], f.other
		f.mu.Unlock()
		if left {
			continue
		}
		if s == nil && other != nil {
			other(m)
			continue
		}
		if s == nil {
			f.t.Errorf("the host sent %s for a channel that nobody has", m.Method)
			continue
		}
		s.receive(m, flow.Size(data))
	}
}

func (f *far) answered(m jsonrpc.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, ch := range f.answers {
		if m.ID == jsonrpc.NumberID(id) {
			delete(f.answers, id)
			a := answer{result: m.Result}
			if m.Error != nil {
				a.err = m.Error
			}
			ch <- a
			return
		}
	}
	f.t.Errorf("an answer to nothing: %s", m.ID)
}

// cut tells everybody that the connection is gone.
func (f *far) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	for _, ch := range f.answers {
		ch <- answer{err: errCut}
	}
	clear(f.answers)
	for _, s := range f.streams {
		s.fail(errCut)
	}
}

func (f *far) close() { _ = f.conn.Close(transport.CodeNormal, "") }

// create makes a connection and does not subscribe to it.
func (f *far) create(uri ahp.URI, host string, port int) error {
	_, err := f.call(ahp.MethodCreateTCPConnection, fmt.Sprintf(`{"channel":%q,"host":%q,"port":%d}`, uri, host, port))
	return err
}

// open makes a connection and subscribes to it.
func (f *far) open(uri ahp.URI, host string, port int, receive flow.Limits) (*farStream, error) {
	if err := f.create(uri, host, port); err != nil {
		return nil, err
	}
	return f.subscribe(uri, receive)
}

// subscribe has its route in place before it asks (AHP core, 12.3).
func (f *far) subscribe(uri ahp.URI, receive flow.Limits) (*farStream, error) {
	s := &farStream{f: f, uri: uri, offer: receive}
	s.changed = sync.NewCond(&s.mu)
	f.mu.Lock()
	f.streams[uri] = s
	f.mu.Unlock()
	result, err := f.call(ahp.MethodSubscribe, fmt.Sprintf(
		`{"channel":%q,"flowControl":{"receive":{"windowBytes":%d,"maximumFrameBytes":%d}}}`, uri, receive.WindowBytes, receive.MaxFrameBytes))
	if err != nil {
		return nil, err
	}
	var r ahp.SubscribeResult
	if err := ahp.Unmarshal(result, &r); err != nil || r.FlowControl == nil || r.Snapshot != nil {
		return nil, fmt.Errorf("not a windowed subscription: %s, %w", result, err)
	}
	s.accept(r.FlowControl)
	return s, nil
}

// mustOpen is open of a test that cannot go on without.
func (f *far) mustOpen(uri ahp.URI, host string, port int, receive flow.Limits) *farStream {
	f.t.Helper()
	s, err := f.open(uri, host, port, receive)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// ours are the limits our own client offers.
var ours = flow.Limits{WindowBytes: 4 << 20, MaxFrameBytes: 256 << 10}

// farStream is the client's end of a TCP channel.
type farStream struct {
	f     *far
	uri   ahp.URI
	offer flow.Limits

	mu      sync.Mutex
	changed *sync.Cond
	err     error // it is over
	credit  flow.Credit
	window  flow.Window
	join    flow.Reassembler
	ready   bool // credit and window are set
	early   []func()
	started bool // the snapshot has come
	got     []byte
	sizes   []held // of messages whose bytes are not read yet
	ended   bool   // tcp/eof has come
	frames  int    // data messages received
}

// held is a data message that is not released yet.
type held struct {
	size int64
	left int // bytes of it that were not read
}

func (s *farStream) accept(fc *ahp.FlowControl) {
	s.mu.Lock()
	defer s.mu.Unlock()
	accepted := flow.Limits{WindowBytes: fc.ClientReceive.WindowBytes, MaxFrameBytes: fc.ClientReceive.MaximumFrameBytes}
	if err := flow.CheckAccepted(s.offer, accepted); err != nil {
		s.f.t.Error(err)
	}
	s.credit = flow.NewCredit(accepted)
	s.window = flow.NewWindow(flow.Limits{WindowBytes: fc.HostReceive.WindowBytes, MaxFrameBytes: fc.HostReceive.MaximumFrameBytes})
	s.join = flow.NewReassembler(1 << 20)
	s.ready = true
	for _, do := range s.early {
		do()
	}
	s.early = nil
	s.changed.Broadcast()
}

// receive takes a notification of the host. What overtakes the goroutine that
// called subscribe waits for it.
func (s *farStream) receive(m jsonrpc.Message, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready {
		s.early = append(s.early, func() { s.receiveLocked(m, size) })
		return
	}
	s.receiveLocked(m, size)
	s.changed.Broadcast()
}

func (s *farStream) receiveLocked(m jsonrpc.Message, size int64) {
	t := s.f.t
	switch m.Method {
	case ahp.MethodChannelCredit:
		var p ahp.ChannelCreditParams
		if err := ahp.Unmarshal(m.Params, &p); err != nil {
			t.Error(err)
		}
		if _, err := s.window.Credit(p.ConsumedBytes); err != nil {
			t.Errorf("%s: %v", s.uri, err)
		}
		return
	case ahp.MethodTCPReset:
		s.failLocked(errReset)
		return
	}
	if s.err != nil {
		t.Errorf("%s: %s after the end: %v", s.uri, m.Method, s.err)
	}
	if err := s.credit.Receive(size); err != nil {
		t.Errorf("%s: %v", s.uri, err)
	}
	if m.Method == ahp.MethodChannelFrame {
		s.frameLocked(m.Params, size)
		return
	}
	if err := s.join.Whole(); err != nil {
		t.Errorf("%s: %v", s.uri, err)
	}
	s.dataLocked(m, size)
}

func (s *farStream) frameLocked(params jsontext.Value, size int64) {
	var p ahp.ChannelFrameParams
	if err := ahp.Unmarshal(params, &p); err != nil {
		s.f.t.Error(err)
	}
	msg, err := s.join.Add([]byte(p.Data), p.Final)
	if err != nil {
		s.f.t.Errorf("%s: %v", s.uri, err)
	}
	s.releaseLocked(size)
	if msg == nil {
		return
	}
	m, err := jsonrpc.Scan(msg)
	if err != nil {
		s.f.t.Errorf("%s: in frames: %v", s.uri, err)
	}
	s.dataLocked(m, 0)
}

func (s *farStream) dataLocked(m jsonrpc.Message, size int64) {
	if first := m.Method == ahp.MethodChannelSnapshot; first == s.started {
		s.f.t.Errorf("%s: %s, and started is %v", s.uri, m.Method, s.started)
	}
	s.started = true
	switch m.Method {
	case ahp.MethodChannelSnapshot:
		var p ahp.ChannelSnapshotParams
		if err := ahp.Unmarshal(m.Params, &p); err != nil || p.Snapshot.Resource != s.uri || string(p.Snapshot.State) != "{}" {
			s.f.t.Errorf("snapshot %s, %v", m.Params, err)
		}
		s.releaseLocked(size)
	case ahp.MethodTCPEOF:
		if s.ended {
			s.f.t.Errorf("%s: two ends", s.uri)
		}
		s.ended = true
		s.releaseLocked(size)
	case ahp.MethodTCPData:
		raw, _ := jsonrpc.Member(m.Params, "data")
		text, _ := jsonrpc.StringValue(raw)
		data, err := base64.StdEncoding.Strict().DecodeString(text)
		if err != nil || len(data) == 0 || s.ended {
			s.f.t.Errorf("%s: %d bytes of data, ended %v, %v", s.uri, len(data), s.ended, err)
		}
		s.got = append(s.got, data...)
		s.sizes = append(s.sizes, held{size, len(data)})
		s.frames++
	default:
		s.f.t.Errorf("%s: %s", s.uri, m.Method)
	}
}

// releaseLocked gives credit when it is due. It does not wait for the writer.
func (s *farStream) releaseLocked(size int64) {
	if size == 0 {
		return
	}
	if err := s.credit.Release(size); err != nil {
		s.f.t.Error(err)
	}
	if consumed, due := s.credit.Take(); due && s.err == nil {
		msg := fmt.Sprintf(`{"channel":%q,"consumedBytes":%d}`, s.uri, consumed)
		s.f.w.serving.Go(func() { _ = s.f.notify(ahp.MethodChannelCredit, msg) })
	}
}

// Read returns what has come, and gives credit for it.
func (s *farStream) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.got) == 0 {
		switch {
		case s.err != nil:
			return 0, s.err
		case s.ended:
			return 0, io.EOF
		}
		s.changed.Wait()
	}
	n := copy(b, s.got)
	s.got = s.got[n:]
	for left := n; left > 0; {
		part := min(left, s.sizes[0].left)
		left -= part
		if s.sizes[0].left -= part; s.sizes[0].left == 0 {
			s.releaseLocked(s.sizes[0].size)
			s.sizes = s.sizes[1:]
		}
	}
	return n, nil
}

// Write sends bytes in messages as large as the host takes.
func (s *farStream) Write(b []byte) (sent int, err error) {
	text := newDataText(s.uri)
	for len(b) > 0 {
		n := min(len(b), text.room(s.hostFrame()))
		msg, size := text.appendData(nil, b[:n])
		if err := s.data(msg, size); err != nil {
			return sent, err
		}
		b, sent = b[n:], sent+n
	}
	return sent, nil
}

func (s *farStream) hostFrame() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.window.Limits().MaxFrameBytes
}

// data sends a data message when the window is open.
func (s *farStream) data(msg []byte, size int64) error {
	s.mu.Lock()
	for s.err == nil && !s.window.CanStart() {
		s.changed.Wait()
	}
	err := s.err
	if err == nil {
		err = s.window.Charge(size)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.f.send(msg)
}

// CloseWrite ends this direction.
func (s *farStream) CloseWrite() error {
	msg := jsonrpc.AppendNotification(nil, ahp.MethodTCPEOF, jsontext.Value(fmt.Sprintf(`{"channel":%q}`, s.uri)))
	return s.data(msg, flow.Size(msg))
}

// reset aborts, and unsubscribes.
func (s *farStream) reset() error {
	s.fail(errReset)
	return errors.Join(s.f.notify(ahp.MethodTCPReset, fmt.Sprintf(`{"channel":%q}`, s.uri)), s.unsubscribe())
}

func (s *farStream) unsubscribe() error {
	s.fail(net.ErrClosed)
	s.f.mu.Lock()
	delete(s.f.streams, s.uri)
	s.f.left[s.uri] = true
	s.f.mu.Unlock()
	return s.f.notify(ahp.MethodUnsubscribe, fmt.Sprintf(`{"channel":%q}`, s.uri))
}

func (s *farStream) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failLocked(err)
	s.changed.Broadcast()
}

func (s *farStream) failLocked(err error) {
	if s.err == nil {
		s.err = err
	}
}
