package tcpbench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Download returns how many bytes a second streams connections to addr receive
// together, of as many bytes each.
func Download(ctx context.Context, addr string, streams int, bytes int64) (float64, error) {
	return throughput(ctx, addr, streams, bytes, func(conn net.Conn) error {
		if err := begin(conn, opDownload, bytes); err != nil {
			return err
		}
		return read(conn, bytes)
	})
}

// Upload is Download in the other direction; the destination has taken the bytes.
func Upload(ctx context.Context, addr string, streams int, bytes int64) (float64, error) {
	return throughput(ctx, addr, streams, bytes, func(conn net.Conn) error {
		if err := begin(conn, opUpload, bytes); err != nil {
			return err
		}
		if err := write(conn, bytes); err != nil {
			return err
		}
		return read(conn, 1)
	})
}

func throughput(ctx context.Context, addr string, streams int, bytes int64, move func(net.Conn) error) (float64, error) {
	errs := make([]error, streams)
	var moving sync.WaitGroup
	began := time.Now()
	for n := range streams {
		moving.Go(func() { errs[n] = with(ctx, addr, move) })
	}
	moving.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	return float64(bytes) * float64(streams) / time.Since(began).Seconds(), nil
}

// Streams names a number of streams, for tables.
func Streams(n int) string {
	if n == 1 {
		return "1 stream"
	}
	return fmt.Sprint(n, " streams")
}

// FirstByte opens n connections to addr, one after the other, and returns how long
// each took from the dialling to the echo of a byte.
func FirstByte(ctx context.Context, addr string, n int) ([]time.Duration, error) {
	times := make([]time.Duration, n)
	for i := range times {
		began := time.Now()
		err := with(ctx, addr, func(conn net.Conn) error {
			if err := begin(conn, opEcho, 1); err != nil {
				return err
			}
			if _, err := conn.Write([]byte{'.'}); err != nil {
				return err
			}
			if err := read(conn, 1); err != nil {
				return err
			}
			times[i] = time.Since(began)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return times, nil
}

// with dials, and closes the connection when use returns or ctx ends.
func with(ctx context.Context, addr string, use func(net.Conn) error) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := use(conn); err != nil {
		return fmt.Errorf("measure through %s: %w", addr, err)
	}
	return nil
}

func begin(w io.Writer, op byte, bytes int64) error {
	var head [headBytes]byte
	head[0] = op
	binary.BigEndian.PutUint64(head[1:], uint64(bytes))
	_, err := w.Write(head[:])
	return err
}
