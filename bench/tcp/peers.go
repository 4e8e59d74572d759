package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
)

// peer is something that carries connections from a local port to the destination.
type peer struct {
	name   string
	addr   string // the local port
	absent string // why it is not measured
	procs  []*exec.Cmd
}

// stop ends the processes of a peer, the newest first.
func (p *peer) stop() {
	for n := len(p.procs) - 1; n >= 0; n-- {
		_ = p.procs[n].Process.Signal(syscall.SIGTERM)
		_ = p.procs[n].Wait()
	}
}

// start starts a process that prints a line when it is ready, which ready picks.
func (p *peer) start(ctx context.Context, ready func(line string) (string, bool), name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	p.procs = append(p.procs, cmd)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if found, ok := ready(lines.Text()); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }() // until the process ends
			return found, nil
		}
	}
	return "", fmt.Errorf("%s ended before it was ready", filepath.Base(name))
}

// startOurs runs a host and a forwarder, both of this source tree.
func startOurs(ctx context.Context, dir, destination string) (*peer, error) {
	p := &peer{name: "causeway"}
	binary := filepath.Join(dir, "causeway")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/causeway")
	build.Dir = ".."
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("build causeway in the directory above: %w", err)
	}
	url, err := p.start(ctx, func(line string) (string, bool) { return line, strings.HasPrefix(line, "ws://") },
		binary, "serve", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0", "--log-level", "error")
	if err != nil {
		return nil, err
	}
	p.addr, err = p.start(ctx, func(line string) (string, bool) {
		var event struct {
			Listen string `json:"listen"`
		}
		return event.Listen, json.Unmarshal([]byte(line), &event) == nil && event.Listen != ""
	}, binary, "forward", "--url", url, "--json", "0:"+destination)
	return p, err
}

// startCopy runs a proxy that only copies.
func startCopy(ctx context.Context, _, destination string) (*peer, error) {
	p := &peer{name: "copy"}
	var err error
	p.addr, err = p.self(ctx, "copy", destination)
	return p, err
}

// startYamux runs two processes joined by yamux over WebSocket.
func startYamux(ctx context.Context, _, destination string) (*peer, error) {
	p := &peer{name: "yamux"}
	far, err := p.self(ctx, "yamux-far", destination)
	if err != nil {
		return nil, err
	}
	p.addr, err = p.self(ctx, "yamux-near", far)
	return p, err
}

// self starts this program in a role; it prints its address.
func (p *peer) self(ctx context.Context, role, target string) (string, error) {
	binary, err := os.Executable()
	if err != nil {
		return "", err
	}
	return p.start(ctx, func(line string) (string, bool) { return line, true }, binary, "-role", role, target)
}

// startSSH runs an sshd without privileges and ssh -L to it.
func startSSH(ctx context.Context, dir, destination string) (*peer, error) {
	p := &peer{name: "ssh -L"}
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		sshd = "/usr/sbin/sshd"
	}
	if _, err := os.Stat(sshd); err != nil {
		p.absent = "sshd is not installed"
		return p, nil
	}
	for _, key := range []string{"host", "user"} {
		if out, err := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("ssh-keygen: %w: %s", err, out)
		}
	}
	public, err := os.ReadFile(filepath.Join(dir, "user.pub"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "authorized"), public, 0o600)
	}
	if err != nil {
		return nil, err
	}
	if os.Getuid() == 0 { // sshd separates privileges in this directory
		_ = os.MkdirAll("/run/sshd", 0o755)
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	daemon := exec.CommandContext(ctx, sshd, "-D", "-f", "/dev/null", "-p", port, "-h", filepath.Join(dir, "host"),
		"-o", "ListenAddress=127.0.0.1", "-o", "AuthorizedKeysFile="+filepath.Join(dir, "authorized"), "-o", "StrictModes=no",
		"-o", "PidFile=none", "-o", "UsePAM=no", "-o", "LogLevel=ERROR")
	if err := daemon.Start(); err != nil {
		return nil, err
	}
	p.procs = append(p.procs, daemon)
	if err := reachable(ctx, "127.0.0.1:"+port); err != nil {
		p.absent = "sshd does not start here"
		return p, nil
	}
	local, err := freePort()
	if err != nil {
		return nil, err
	}
	p.addr = "127.0.0.1:" + local
	client := exec.CommandContext(ctx, "ssh", "-N", "-F", "/dev/null", "-i", filepath.Join(dir, "user"), "-p", port,
		"-c", "aes128-gcm@openssh.com", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
		"-o", "LogLevel=ERROR", "-o", "ExitOnForwardFailure=yes", "-L", p.addr+":"+destination, "127.0.0.1")
	client.Stderr = os.Stderr
	if err := client.Start(); err != nil {
		return nil, err
	}
	p.procs = append(p.procs, client)
	if err := reachable(ctx, p.addr); err != nil {
		p.absent = "ssh does not connect here"
	}
	return p, nil
}

func freePort() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	return port, err
}

// reachable waits until somebody listens.
func reachable(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}
