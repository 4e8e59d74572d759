package simnet

import (
	"os"
	"syscall"
	"time"
)

// dial is one attempt to connect. Whoever settles it first wins: the network,
// one round trip later, or the caller's context.
type dial struct {
	link *Link
	at   time.Time     // when the answer comes back, unless the link is stalled
	done chan struct{} // closed once conn and err are final
	conn *Conn
	err  error
}

func (n *Network) startDial(from, addr string) *dial {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := n.linkLocked(from, addr)
	k.stats.Dials++
	roundTrip := k.profile[Up].Latency + k.profile[Down].Latency
	d := &dial{link: k, at: time.Now().Add(roundTrip), done: make(chan struct{})}
	k.dialing = append(k.dialing, d)
	if roundTrip > 0 {
		time.AfterFunc(roundTrip, k.answerDials)
	} else {
		k.answerDialsLocked()
	}
	return d
}

// answerDials settles what is due. It runs on a timer's goroutine.
func (k *Link) answerDials() {
	k.net.mu.Lock()
	defer k.net.mu.Unlock()
	k.answerDialsLocked()
}

func (k *Link) answerDialsLocked() {
	if k.stalled[Up] || k.stalled[Down] {
		return
	}
	waiting := k.dialing
	k.dialing = nil
	for _, d := range waiting {
		if time.Until(d.at) > 0 {
			k.dialing = append(k.dialing, d)
			continue
		}
		d.conn, d.err = k.connectLocked()
		close(d.done)
	}
}

// connectLocked is the far end's answer to a request to connect.
func (k *Link) connectLocked() (*Conn, error) {
	ln := k.net.listeners[k.key.addr]
	if k.refuse || ln == nil || len(ln.backlog) >= maxBacklog {
		k.stats.Refused++
		return nil, os.NewSyscallError("connect", syscall.ECONNREFUSED)
	}
	near, far := k.newPairLocked()
	ln.backlog = append(ln.backlog, far)
	ln.acceptable.Signal()
	return near, nil
}

// abandon gives the attempt up with cause unless it was settled before.
func (d *dial) abandon(cause error) {
	n := d.link.net
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-d.done:
		return
	default:
	}
	d.err = cause
	close(d.done)
	d.link.dialing = without(d.link.dialing, d)
}

// without returns s with no x in it, reusing the space of s.
func without[T comparable](s []T, x T) []T {
	kept := s[:0]
	for _, v := range s {
		if v != x {
			kept = append(kept, v)
		}
	}
	clear(s[len(kept):])
	return kept
}
