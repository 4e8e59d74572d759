package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// listen opens the TCP listener, with TLS if asked for, and the Unix socket.
func (s *server) listen() error {
	ln, err := net.Listen("tcp", s.options.listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use by another program; choose another --listen, or port 0 for any free one", s.options.listen)
	}
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s.tcp = ln
	if err := s.checkExposure(); err != nil {
		return err
	}
	if s.options.tlsCert != "" {
		config, err := tlsConfig(s.options)
		if err != nil {
			return err
		}
		s.tcp = tls.NewListener(ln, config)
	}
	if s.unix, err = s.claim.ListenUnix(); err != nil {
		// The host can be reached without: only tokens are needed then.
		s.log.Warn("there is no Unix socket", "err", err)
		s.unix = nil
	}
	return nil
}

// checkExposure looks at the address really bound: a name may mean any.
func (s *server) checkExposure() error {
	addr, ok := s.tcp.Addr().(*net.TCPAddr)
	if ok && addr.IP.IsLoopback() {
		return nil
	}
	if s.options.noToken {
		return usagef("--no-token works on loopback only, not on %s: everybody on the network could run commands here", s.tcp.Addr())
	}
	if s.options.tlsCert == "" {
		s.log.Warn("the host is reachable from the network without encryption; use --tls-cert, or loopback and an SSH tunnel", "address", s.tcp.Addr())
	}
	return nil
}

// closeListeners closes what listen opened, when it will not be served.
func (s *server) closeListeners() error {
	var errs []error
	for _, ln := range []net.Listener{s.tcp, s.unix} {
		if ln != nil {
			errs = append(errs, ln.Close())
		}
	}
	return errors.Join(errs...)
}

// tlsConfig reads the certificates. A client without one may still present a
// token.
func tlsConfig(o *serveOptions) (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(o.tlsCert, o.tlsKey)
	if err != nil {
		return nil, fmt.Errorf("read --tls-cert and --tls-key: %w", err)
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
	}
	if o.tlsClientCA == "" {
		return config, nil
	}
	pem, err := os.ReadFile(o.tlsClientCA)
	if err != nil {
		return nil, fmt.Errorf("read --tls-client-ca: %w", err)
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--tls-client-ca %s holds no certificate", o.tlsClientCA)
	}
	config.ClientAuth = tls.VerifyClientCertIfGiven
	return config, nil
}

// port is the port of a TCP address.
func port(addr net.Addr) int {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return tcp.Port
	}
	return 0
}
