package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/causeway-ahp/causeway/agent/acp"
)

// ProviderID is the provider of sessions with the built-in scripts.
const ProviderID = "script"

// Options are what a provider can be given; the zero value plays the built-in
// scripts at their own speed.
type Options struct {
	Name       string      // default ProviderID
	Transcript *Transcript // default: the built-in one
	Speed      float64     // divides the waits; 0 means 1, a negative one leaves them out
	Log        *slog.Logger
}

// New returns a provider whose agents replay a transcript inside this process,
// through the adapter that real agents pass through.
func New(o Options) (*acp.Provider, error) {
	if o.Transcript == nil {
		t, err := Builtin(DefaultScript)
		if err != nil {
			return nil, err
		}
		o.Transcript = t
	}
	if o.Name == "" {
		o.Name = ProviderID
	}
	if o.Speed == 0 {
		o.Speed = 1
	}
	player := &Player{Transcript: o.Transcript, Speed: o.Speed}
	return acp.New(acp.Options{
		Name: o.Name, DisplayName: "Script", Log: o.Log,
		Description: "Replays recorded agents; a message's first word chooses the script, such as hello, tools, permission, plan",
		Launch: func(ctx context.Context, _ string) (acp.Peer, error) {
			return launch(ctx, player), nil
		},
	})
}

// peer is a player at the other end of two pipes.
type peer struct {
	io.Reader
	io.Writer
	closePipes func()
	stop       context.CancelCauseFunc
	done       chan struct{}

	mu   sync.Mutex
	exit *ExitError // nil while it plays, and when it was ended
}

var errEndedByHost = errors.New("ended by the host")

// launch starts a player. It outlives the call that started it.
func launch(ctx context.Context, player *Player) *peer {
	clientIn, agentOut := io.Pipe()
	agentIn, clientOut := io.Pipe()
	p := &peer{Reader: clientIn, Writer: clientOut, done: make(chan struct{})}
	p.closePipes = func() {
		_ = agentOut.Close()
		_ = agentIn.Close()
	}
	ctx, p.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	go p.playLoop(ctx, player, agentIn, agentOut)
	return p
}

// playLoop plays until the script or the host ends. End waits for it.
func (p *peer) playLoop(ctx context.Context, player *Player, in io.Reader, out io.Writer) {
	defer close(p.done)
	defer p.closePipes()
	err := player.Serve(ctx, in, out)
	p.mu.Lock()
	defer p.mu.Unlock()
	errors.As(err, &p.exit)
}

// End implements acp.Peer.
func (p *peer) End() {
	p.stop(errEndedByHost)
	p.closePipes()
	<-p.done
}

// Status implements acp.Peer.
func (p *peer) Status() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.exit == nil {
		return ""
	}
	return fmt.Sprintf("exit status %d", p.exit.Code)
}

// LastWords implements acp.Peer.
func (p *peer) LastWords() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.exit == nil {
		return ""
	}
	return p.exit.Text
}
