package acp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLineBytes bounds a message of an agent. A longer line ends the agent: the
// stream cannot be taken up again safely behind it.
const MaxLineBytes = 32 << 20

var errLineTooLong = fmt.Errorf("the agent sent a line of more than %d MiB", MaxLineBytes>>20)

// lineReader reads lines and bounds them. A line costs memory as it comes in.
type lineReader struct{ in *bufio.Reader }

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(r, 64<<10)}
}

// next returns the next line that holds something, without its end; the caller
// owns it. A last line without an end was cut and is not returned.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.line()
		if err != nil || len(line) > 0 {
			return line, err
		}
	}
}

func (l *lineReader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		if len(line)+len(part) > MaxLineBytes {
			return nil, errLineTooLong
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			line = append(line, part...)
		case err != nil:
			return nil, err
		default:
			return bytes.TrimSpace(append(line, part...)), nil
		}
	}
}
