package main

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// wireLog appends every message of every connection to a file, one JSON object a
// line. It writes on the connections' own goroutines and slows them down: it is
// for finding out what two peers say to each other, not for every day.
type wireLog struct {
	log *slog.Logger

	// mu guards the file and keeps lines whole.
	mu     sync.Mutex
	f      *os.File
	conns  uint64
	failed bool // it was said that writing fails
}

// wireLine is one line. Exactly one of Message, Bytes and Event says what.
type wireLine struct {
	Time      time.Time      `json:"time"`
	Conn      uint64         `json:"conn"`
	Principal host.Principal `json:"principal,omitzero"`
	Remote    string         `json:"remote,omitzero"`
	Direction string         `json:"dir,omitzero"` // "in": from the client
	Message   jsontext.Value `json:"message,omitzero"`
	Bytes     int            `json:"unreadableBytes,omitzero"` // what is not JSON cannot be redacted
	Event     string         `json:"event,omitzero"`
}

// openWireLog opens the file for appending. It holds what users write, so others
// must not read it.
func openWireLog(path string, log *slog.Logger) (*wireLog, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open --wire-log: %w", err)
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		_ = f.Close()
		return nil, fmt.Errorf("open --wire-log: %s can be read by others; run chmod 600 on it or choose another file", path)
	}
	return &wireLog{log: log, f: f}, nil
}

// Close closes the file. A nil wireLog is one that is off.
func (w *wireLog) Close() error {
	if w == nil {
		return nil
	}
	return w.f.Close()
}

// wrap logs a connection from now on.
func (w *wireLog) wrap(c transport.Conn, p host.Principal) transport.Conn {
	w.mu.Lock()
	w.conns++
	id := w.conns
	w.mu.Unlock()
	w.write(wireLine{Conn: id, Principal: p, Remote: c.RemoteAddr(), Event: "open"})
	return &wireConn{Conn: c, w: w, id: id}
}

func (w *wireLog) message(conn uint64, direction string, data []byte) {
	line := wireLine{Conn: conn, Direction: direction}
	if clean, err := redact(data); err == nil {
		line.Message = clean
	} else {
		line.Bytes = len(data)
	}
	w.write(line)
}

func (w *wireLog) write(line wireLine) {
	line.Time = time.Now().UTC()
	data, err := json.Marshal(line, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		_, err = w.f.Write(append(data, '\n'))
	}
	if err != nil && !w.failed {
		w.failed = true
		w.log.Warn("the wire log is incomplete", "err", err)
	}
}

// wireConn is a connection that is logged.
type wireConn struct {
	transport.Conn
	w  *wireLog
	id uint64
}

// Read implements transport.Conn.
func (c *wireConn) Read() ([]byte, error) {
	data, err := c.Conn.Read()
	if err == nil {
		c.w.message(c.id, "in", data)
	}
	return data, err
}

// Write implements transport.Conn.
func (c *wireConn) Write(batch [][]byte) error {
	for _, data := range batch {
		c.w.message(c.id, "out", data)
	}
	return c.Conn.Write(batch)
}

// Close implements transport.Conn.
func (c *wireConn) Close(code transport.Code, reason string) error {
	c.w.write(wireLine{Conn: c.id, Event: "close " + code.String()})
	return c.Conn.Close(code, reason)
}
