package socks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
)

// Code is what a client is told (RFC 1928, 6).
type Code byte

// The codes.
const (
	Succeeded Code = iota
	GeneralFailure
	NotAllowed
	NetworkUnreachable
	HostUnreachable
	ConnectionRefused
	TTLExpired
	CommandNotSupported
	AddressTypeNotSupported
)

const (
	version    = 5
	noPassword = 0x00
	noMethod   = 0xff
	connect    = 1

	addressV4   = 1
	addressName = 3
	addressV6   = 4
)

// Errors of clients that ask for what there is not. They have been answered.
var (
	// ErrVersion is a client that does not speak SOCKS 5.
	ErrVersion = errors.New("not SOCKS 5")
	// ErrMethod is a client that insists on authentication.
	ErrMethod = errors.New("the client wants to authenticate")
	// ErrCommand is anything but CONNECT.
	ErrCommand = errors.New("only CONNECT is supported")
	// ErrAddress is a destination that cannot be read.
	ErrAddress = errors.New("unreadable destination")
)

// Destination is where a client wants to go.
type Destination struct {
	Host string // a name as it was sent, or an IP address without brackets
	Port uint16
}

// String returns the destination as host:port.
func (d Destination) String() string {
	return net.JoinHostPort(d.Host, strconv.Itoa(int(d.Port)))
}

// Accept takes a client up to its request. An error other than those of this
// package is one of rw. The caller answers a request with Reply.
func Accept(rw io.ReadWriter) (Destination, error) {
	if err := greet(rw); err != nil {
		return Destination{}, err
	}
	var head [4]byte // version, command, reserved, type of the address
	if _, err := io.ReadFull(rw, head[:]); err != nil {
		return Destination{}, fmt.Errorf("read request: %w", err)
	}
	switch {
	case head[0] != version:
		return Destination{}, refuse(rw, GeneralFailure, ErrVersion)
	case head[1] != connect:
		return Destination{}, refuse(rw, CommandNotSupported, ErrCommand)
	}
	host, err := readHost(rw, head[3])
	if errors.Is(err, ErrAddress) {
		return Destination{}, refuse(rw, AddressTypeNotSupported, err)
	}
	var port [2]byte
	if err == nil {
		_, err = io.ReadFull(rw, port[:])
	}
	if err != nil {
		return Destination{}, fmt.Errorf("read destination: %w", err)
	}
	d := Destination{Host: host, Port: binary.BigEndian.Uint16(port[:])}
	if d.Port == 0 || d.Host == "" {
		return Destination{}, refuse(rw, GeneralFailure, ErrAddress)
	}
	return d, nil
}

// greet agrees on no authentication (RFC 1928, 3).
func greet(rw io.ReadWriter) error {
	var head [2]byte // version, number of methods
	if _, err := io.ReadFull(rw, head[:]); err != nil {
		return fmt.Errorf("read greeting: %w", err)
	}
	if head[0] != version {
		return ErrVersion // whatever it speaks, it would not understand an answer
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(rw, methods); err != nil {
		return fmt.Errorf("read greeting: %w", err)
	}
	method, refused := byte(noPassword), error(nil)
	if !slices.Contains(methods, noPassword) {
		method, refused = noMethod, ErrMethod
	}
	if _, err := rw.Write([]byte{version, method}); err != nil {
		return fmt.Errorf("answer greeting: %w", err)
	}
	return refused
}

// readHost reads an address of that type (RFC 1928, 5).
func readHost(r io.Reader, kind byte) (string, error) {
	switch kind {
	case addressV4:
		var a [4]byte
		_, err := io.ReadFull(r, a[:])
		return netip.AddrFrom4(a).String(), err
	case addressV6:
		var a [16]byte
		_, err := io.ReadFull(r, a[:])
		return netip.AddrFrom16(a).String(), err
	case addressName:
		var n [1]byte
		if _, err := io.ReadFull(r, n[:]); err != nil {
			return "", err
		}
		name := make([]byte, n[0])
		_, err := io.ReadFull(r, name)
		return string(name), err
	}
	return "", ErrAddress
}

func refuse(w io.Writer, code Code, why error) error {
	if err := Reply(w, code); err != nil {
		return err
	}
	return why
}

// Reply answers a request. The address that was bound is not told: it is of
// another machine.
func Reply(w io.Writer, code Code) error {
	if _, err := w.Write([]byte{version, byte(code), 0, addressV4, 0, 0, 0, 0, 0, 0}); err != nil {
		return fmt.Errorf("answer request: %w", err)
	}
	return nil
}
