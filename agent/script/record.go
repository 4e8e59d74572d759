package script

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/agent/acp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Recorder writes a transcript of what passes through a peer. Its methods may be
// called concurrently.
type Recorder struct {
	// Replace are texts and what stands for them in the transcript, such as the
	// paths of this machine.
	Replace [][2]string

	mu    sync.Mutex
	w     io.Writer
	begun time.Time
	err   error // the first of a write
}

// NewRecorder begins a transcript.
func NewRecorder(w io.Writer, h Header) (*Recorder, error) {
	h.Version = Version
	r := &Recorder{w: w, begun: time.Now()}
	if err := r.write(h); err != nil {
		return nil, err
	}
	return r, nil
}

// write appends a line.
func (r *Recorder) write(v any) error {
	raw, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return fmt.Errorf("encode transcript: %w", err)
	}
	if _, err := r.w.Write(append(raw, '\n')); err != nil {
		return fmt.Errorf("write transcript: %w", err)
	}
	return nil
}

// Err is the first error of writing the transcript.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// note records a line that one side said.
func (r *Recorder) note(from string, line []byte) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l := Line{At: max(time.Since(r.begun).Milliseconds(), 1), From: from}
	if m, err := jsonrpc.Scan(line); err == nil {
		l.Msg = r.mask(m, line)
	} else if from == FromAgent {
		l.Do, l.Text = DoRaw, r.replaced(strings.ToValidUTF8(string(line), "\ufffd"))
	} else {
		return
	}
	if err := r.write(l); err != nil && r.err == nil {
		r.err = err
	}
}

func (r *Recorder) replaced(text string) string {
	for _, pair := range r.Replace {
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	return text
}

// mask is a message without what is this machine's. MCP servers are left out
// altogether: their settings hold keys.
func (r *Recorder) mask(m jsonrpc.Message, line []byte) jsontext.Value {
	text := string(line)
	if servers, ok := jsonrpc.Member(m.Params, "mcpServers"); ok {
		text = strings.Replace(text, string(servers), "[]", 1)
	}
	masked := jsontext.Value(r.replaced(text))
	if !masked.IsValid() { // a replacement met the middle of an escape
		return jsontext.Value(line)
	}
	return masked
}

// ended records that the agent ended by itself.
func (r *Recorder) ended(code int, words string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := Line{At: max(time.Since(r.begun).Milliseconds(), 1), Do: DoExit, Code: code, Text: r.replaced(words)}
	if err := r.write(l); err != nil && r.err == nil {
		r.err = err
	}
}

// Tee records what passes through a peer, and how it ended.
func (r *Recorder) Tee(p acp.Peer) acp.Peer {
	return &teePeer{Peer: p, said: splitter{to: func(l []byte) { r.note(FromAgent, l) }}, heard: splitter{to: func(l []byte) { r.note(FromClient, l) }}, r: r}
}

// teePeer is a peer that is recorded.
type teePeer struct {
	acp.Peer
	said, heard splitter
	r           *Recorder
	over        sync.Once
}

func (t *teePeer) Read(b []byte) (int, error) {
	n, err := t.Peer.Read(b)
	t.said.write(b[:n])
	if err != nil {
		t.over.Do(t.noteEnd)
	}
	return n, err
}

func (t *teePeer) Write(b []byte) (int, error) {
	t.heard.write(b)
	return t.Peer.Write(b)
}

// End implements acp.Peer. An end that was asked for is none to record.
func (t *teePeer) End() {
	t.over.Do(func() {})
	t.Peer.End()
}

func (t *teePeer) noteEnd() {
	t.Peer.End() // its status is known afterwards
	var code int
	if _, err := fmt.Sscanf(t.Peer.Status(), "exit status %d", &code); err == nil && code != 0 {
		t.r.ended(code, t.Peer.LastWords())
	}
}

// splitter cuts a stream into lines.
type splitter struct {
	rest []byte
	to   func(line []byte)
}

func (s *splitter) write(b []byte) {
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			if len(s.rest)+len(b) <= MaxLineBytes {
				s.rest = append(s.rest, b...)
			}
			return
		}
		s.to(append(s.rest, b[:i]...))
		s.rest, b = nil, b[i+1:]
	}
}
