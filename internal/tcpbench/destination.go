package tcpbench

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
)

// What a connection is for; a number of bytes follows, in eight bytes.
const (
	opDownload = 'd' // the destination sends as many
	opUpload   = 'u' // it takes as many, and answers with one
	opEcho     = 'e' // it sends back as many
	headBytes  = 9
)

// chunkBytes is what both ends read and write at once.
const chunkBytes = 256 << 10

// Destination serves measurements on loopback.
type Destination struct {
	ln      net.Listener
	serving sync.WaitGroup
}

// NewDestination listens on a free port. It must be closed.
func NewDestination() (*Destination, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &Destination{ln: ln}
	d.serving.Go(d.accept)
	return d, nil
}

// Addr is where it listens.
func (d *Destination) Addr() string { return d.ln.Addr().String() }

// Close ends it and waits for connections that are being served.
func (d *Destination) Close() error {
	err := d.ln.Close()
	d.serving.Wait()
	return err
}

func (d *Destination) accept() {
	for {
		conn, err := d.ln.Accept()
		if err != nil {
			return
		}
		d.serving.Go(func() {
			defer conn.Close()
			_ = serve(conn) // the other end hears of it
		})
	}
}

func serve(conn net.Conn) error {
	var head [headBytes]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return err
	}
	n := int64(binary.BigEndian.Uint64(head[1:]))
	switch head[0] {
	case opDownload:
		return write(conn, n)
	case opUpload:
		if err := read(conn, n); err != nil {
			return err
		}
		_, err := conn.Write([]byte{'.'})
		return err
	case opEcho:
		_, err := io.CopyN(conn, conn, n)
		return err
	}
	return nil
}

func write(w io.Writer, n int64) error {
	buf := make([]byte, chunkBytes)
	for n > 0 {
		k, err := w.Write(buf[:min(n, chunkBytes)])
		n -= int64(k)
		if err != nil {
			return err
		}
	}
	return nil
}

func read(r io.Reader, n int64) error {
	buf := make([]byte, chunkBytes)
	for n > 0 {
		k, err := r.Read(buf)
		n -= int64(k)
		if err != nil && n > 0 {
			return err
		}
	}
	return nil
}
