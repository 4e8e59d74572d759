package datadir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrNoHost means that no host runs on the directory.
var ErrNoHost = errors.New("no host is running")

// ErrNotReady means that a host runs that cannot be reached yet, or any more.
var ErrNotReady = errors.New("the host is starting or stopping")

// Host is what a running host tells about itself.
type Host struct {
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	// Address is host:port as bound, with the real port. Secure says that it
	// wants TLS.
	Address string `json:"address"`
	Secure  bool   `json:"secure,omitzero"`
	// Socket is the path of the Unix socket, "" if there is none.
	Socket  string `json:"socket,omitzero"`
	Version string `json:"version"`
	// NoToken says that the address asks for no token.
	NoToken bool `json:"noToken,omitzero"`
	// AutoExit says that the host was started in the background and ends by
	// itself when nobody needs it.
	AutoExit bool           `json:"autoExit,omitzero"`
	Extra    jsontext.Value `json:",embed"`
}

// RunningError means that another host lives on the directory.
type RunningError struct {
	Dir string
	// Host is the zero value while that host is not ready.
	Host Host
}

// Error names the host as far as it is known.
func (e *RunningError) Error() string {
	if e.Host.PID == 0 {
		return fmt.Sprintf("a host is starting or stopping on %s", e.Dir)
	}
	return fmt.Sprintf("a host runs on %s already (pid %d, %s)", e.Dir, e.Host.PID, e.Host.Address)
}

// Claim makes the caller the host of a directory until Release. Its methods must
// not be called concurrently.
type Claim struct {
	dir  Dir
	lock *lock
}

// Claim takes the directory for a host. The error is a *RunningError when
// another host has it. What a dead host left in host.json is removed.
func (d Dir) Claim(ctx context.Context) (*Claim, error) {
	x, err := hostLock(ctx, d.file(hostLockName))
	if errors.Is(err, errHeld) {
		other, err := d.Find()
		if err != nil {
			other = Host{} // not ready, or gone this moment: nothing to name
		}
		return nil, &RunningError{Dir: d.path, Host: other}
	}
	if err != nil {
		return nil, fmt.Errorf("claim data directory: %w", err)
	}
	c := &Claim{dir: d, lock: x}
	if err := c.Retract(); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return c, nil
}

// Publish writes host.json: from now on others find this host.
func (c *Claim) Publish(h Host) error {
	data, err := json.Marshal(h, jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("encode %s: %w", hostName, err)
	}
	if err := writeFile(c.dir.file(hostName), append(data, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", hostName, err)
	}
	return nil
}

// Retract removes host.json: nobody finds this host any more. The directory
// stays claimed.
func (c *Claim) Retract() error {
	if err := os.Remove(c.dir.file(hostName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", hostName, err)
	}
	return nil
}

// Release gives the directory up.
func (c *Claim) Release() error { return errors.Join(c.Retract(), c.lock.Close()) }
