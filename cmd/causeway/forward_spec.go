package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// forwardSpec is one forward as the user wrote it: a local address, and where its
// connections go. Without a destination they say so themselves, over SOCKS.
type forwardSpec struct {
	bind string // an address of this machine, as net.Listen takes it
	host string // on the host's network; "" for SOCKS
	port int
}

// socks reports whether clients name their destinations themselves.
func (s forwardSpec) socks() bool { return s.host == "" }

// destination is what a user is shown.
func (s forwardSpec) destination() string {
	if s.socks() {
		return "anywhere (SOCKS)"
	}
	return joinPort(s.host, s.port)
}

func joinPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// parseForward reads [bind:]port:host:hostport, as ssh -L takes it. Addresses with
// colons stand in brackets.
func parseForward(text string) (forwardSpec, error) {
	fields, err := splitColons(text)
	if err != nil {
		return forwardSpec{}, err
	}
	bind := "127.0.0.1"
	if len(fields) == 4 {
		bind, fields = bindAddress(fields[0]), fields[1:]
	}
	if len(fields) != 3 {
		return forwardSpec{}, errors.New("want [bind:]port:host:hostport")
	}
	local, err := parsePort(fields[0], 0)
	if err != nil {
		return forwardSpec{}, fmt.Errorf("local port: %w", err)
	}
	port, err := parsePort(fields[2], 1)
	if err != nil {
		return forwardSpec{}, fmt.Errorf("port of the destination: %w", err)
	}
	if fields[1] == "" {
		return forwardSpec{}, errors.New("the destination has no host")
	}
	return forwardSpec{bind: joinPort(bind, local), host: fields[1], port: port}, nil
}

// parseSocks reads [bind:]port, as ssh -D takes it.
func parseSocks(text string) (forwardSpec, error) {
	fields, err := splitColons(text)
	if err != nil {
		return forwardSpec{}, err
	}
	bind := "127.0.0.1"
	if len(fields) == 2 {
		bind, fields = bindAddress(fields[0]), fields[1:]
	}
	if len(fields) != 1 {
		return forwardSpec{}, errors.New("want [bind:]port")
	}
	port, err := parsePort(fields[0], 0)
	if err != nil {
		return forwardSpec{}, fmt.Errorf("local port: %w", err)
	}
	return forwardSpec{bind: joinPort(bind, port)}, nil
}

// parseDestination reads host:port.
func parseDestination(text string) (host string, port int, err error) {
	fields, err := splitColons(text)
	if err != nil {
		return "", 0, err
	}
	if len(fields) != 2 || fields[0] == "" {
		return "", 0, errors.New("want host:port")
	}
	port, err = parsePort(fields[1], 1)
	return fields[0], port, err
}

// bindAddress is the address of a bind field: as with ssh, "*" and nothing mean
// every interface.
func bindAddress(field string) string {
	if field == "*" {
		return ""
	}
	return field
}

// splitColons cuts at colons outside of brackets, and takes the brackets off.
func splitColons(text string) ([]string, error) {
	var fields []string
	for {
		var field string
		var found bool
		if rest, ok := strings.CutPrefix(text, "["); ok {
			if field, text, ok = strings.Cut(rest, "]"); !ok {
				return nil, errors.New("a bracket is not closed")
			}
			if text != "" && text[0] != ':' {
				return nil, errors.New("a colon is missing behind a bracket")
			}
			found = text != ""
			text = strings.TrimPrefix(text, ":")
		} else {
			field, text, found = strings.Cut(text, ":")
		}
		fields = append(fields, field)
		if !found {
			return fields, nil
		}
	}
}

func parsePort(text string, least int) (int, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || int(port) < least {
		return 0, fmt.Errorf("%q is not a port", text)
	}
	return int(port), nil
}
