package socks

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// talk is a client whose words are known beforehand.
type talk struct {
	io.Reader
	bytes.Buffer // what it is answered
}

func (t *talk) Read(p []byte) (int, error) { return t.Reader.Read(p) }

const greeting = "\x05\x01\x00"

func TestAccept(t *testing.T) {
	long := string(bytes.Repeat([]byte("a"), 255))
	for name, test := range map[string]struct {
		sent     string
		want     Destination
		err      error
		answered string
	}{
		"v4":              {greeting + "\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50", Destination{"127.0.0.1", 80}, nil, "\x05\x00"},
		"v6":              {greeting + "\x05\x01\x00\x04" + string(make([]byte, 15)) + "\x01\x15\x38", Destination{"::1", 5432}, nil, "\x05\x00"},
		"name":            {greeting + "\x05\x01\x00\x03\x02db\xff\xff", Destination{"db", 65535}, nil, "\x05\x00"},
		"longest name":    {greeting + "\x05\x01\x00\x03\xff" + long + "\x00\x01", Destination{long, 1}, nil, "\x05\x00"},
		"among methods":   {"\x05\x03\x02\x01\x00" + "\x05\x01\x00\x03\x02db\x00\x01", Destination{"db", 1}, nil, "\x05\x00"},
		"password only":   {"\x05\x01\x02", Destination{}, ErrMethod, "\x05\xff"},
		"no methods":      {"\x05\x00", Destination{}, ErrMethod, "\x05\xff"},
		"SOCKS 4":         {"\x04\x01\x00\x50\x7f\x00\x00\x01\x00", Destination{}, ErrVersion, ""},
		"HTTP":            {"GET / HTTP/1.1\r\n\r\n", Destination{}, ErrVersion, ""},
		"bind":            {greeting + "\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50", Destination{}, ErrCommand, "\x05\x00\x05\x07\x00\x01\x00\x00\x00\x00\x00\x00"},
		"udp":             {greeting + "\x05\x03\x00\x01\x7f\x00\x00\x01\x00\x50", Destination{}, ErrCommand, "\x05\x00\x05\x07\x00\x01\x00\x00\x00\x00\x00\x00"},
		"unknown address": {greeting + "\x05\x01\x00\x02", Destination{}, ErrAddress, "\x05\x00\x05\x08\x00\x01\x00\x00\x00\x00\x00\x00"},
		"port 0":          {greeting + "\x05\x01\x00\x03\x02db\x00\x00", Destination{}, ErrAddress, "\x05\x00\x05\x01\x00\x01\x00\x00\x00\x00\x00\x00"},
		"empty name":      {greeting + "\x05\x01\x00\x03\x00\x00\x01", Destination{}, ErrAddress, "\x05\x00\x05\x01\x00\x01\x00\x00\x00\x00\x00\x00"},
		"cut":             {greeting + "\x05\x01\x00\x03\x05db", Destination{}, io.ErrUnexpectedEOF, "\x05\x00"},
		"nothing":         {"", Destination{}, io.EOF, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := &talk{Reader: bytes.NewReader([]byte(test.sent))}
			got, err := Accept(c)
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("accepted %v, %v, want %v, %v", got, err, test.want, test.err)
			}
			if c.String() != test.answered {
				t.Errorf("answered %q, want %q", c.String(), test.answered)
			}
		})
	}
}

// What follows the request is data and stays where it is.
func TestAcceptReadsNothingBeyondTheRequest(t *testing.T) {
	c := &talk{Reader: bytes.NewReader([]byte(greeting + "\x05\x01\x00\x03\x02db\x00\x50data"))}
	if _, err := Accept(c); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(c.Reader); string(rest) != "data" {
		t.Errorf("%q is left, want the data", rest)
	}
}

func TestReply(t *testing.T) {
	var b bytes.Buffer
	if err := Reply(&b, ConnectionRefused); err != nil || b.String() != "\x05\x05\x00\x01\x00\x00\x00\x00\x00\x00" {
		t.Errorf("wrote %q, %v", b.String(), err)
	}
}

// Whatever a client sends, it is decided within the bytes a request can have, and
// answered in a form it can read.
func FuzzAccept(f *testing.F) {
	for _, seed := range []string{
		"", greeting, "\x05\x01\x02", "GET / HTTP/1.1\r\n\r\n",
		greeting + "\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50",
		greeting + "\x05\x01\x00\x03\x02db\x00\x50data",
		greeting + "\x05\x01\x00\x04" + string(make([]byte, 18)),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		r := bytes.NewReader(sent)
		c := &talk{Reader: r}
		d, err := Accept(c)
		if used := len(sent) - r.Len(); used > 2+255+4+1+255+2 {
			t.Errorf("%d bytes were read", used)
		}
		if err == nil && (d.Host == "" || d.Port == 0 || c.String() != "\x05\x00") {
			t.Errorf("accepted %v, answered %q", d, c.String())
		}
		if n := c.Len(); n != 0 && n != 2 && n != 12 {
			t.Errorf("answered %q", c.String())
		}
	})
}
