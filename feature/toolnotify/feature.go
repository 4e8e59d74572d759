package toolnotify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/notify"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Extension is the member of InitializeResult._meta that announces the feature.
const Extension = notify.Vendor + "tool-notifications"

// Methods of the feature (tool-call notifications, 12.1).
const (
	MethodCapabilities = "x-toolNotifications/capabilities"
	MethodConfigure    = "x-toolNotifications/configure"
	MethodRemove       = "x-toolNotifications/remove"
	MethodResult       = "x-toolNotifications/result"
)

// Options of the feature. Engine is needed; it outlives the host.
type Options struct {
	Engine *notify.Engine
	Log    *slog.Logger // never receives payloads; nil: nothing is logged
}

// Feature implements host.Feature. It belongs before the feature of sessions: then it
// is stopped after it, and hears of the calls that end with the host.
type Feature struct {
	engine *notify.Engine
	log    *slog.Logger
	h      *host.Host
	source string // the name of this host's log at the engine

	ctx   context.Context
	stop  context.CancelFunc
	work  sync.WaitGroup // removals, and the catching up
	ready chan struct{}  // closed when the feature has caught up

	mu      sync.Mutex
	started map[string]time.Time // when running calls were first heard of
}

var _ host.Feature = (*Feature)(nil)

// New makes the feature.
func New(o Options) *Feature {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Feature{engine: o.Engine, log: o.Log, ready: make(chan struct{}), started: make(map[string]time.Time)}
}

// Register implements host.Feature.
func (f *Feature) Register(r *host.Registry) error {
	r.Observe(host.Observer{Kind: ahp.KindChat, Wants: wants, Observe: f.observe})
	r.Hooks(host.Hooks{Removed: f.removed})
	r.InitializeMeta(Extension, marshal(f.capability(string(host.Local))))
	return errors.Join(
		r.Request(MethodCapabilities, f.capabilities),
		r.Request(MethodConfigure, f.configure),
		r.Request(MethodRemove, f.remove),
		r.Request(MethodResult, f.result),
	)
}

// Start implements host.Feature. What ended before a crash without the engine having
// heard of it is told now.
func (f *Feature) Start(ctx context.Context, h *host.Host) error {
	f.h = h
	f.ctx, f.stop = context.WithCancel(ctx)
	at, err := f.attach(ctx)
	if err != nil {
		return fmt.Errorf("read where tool notifications stood: %w", err)
	}
	f.work.Go(func() {
		defer close(f.ready)
		f.catchUp(at)
	})
	return nil
}

// attach finds the name of the host's log and where the engine stands in it. A log
// that ends before that place is another one, such as that of a host without a store:
// it gets a name of its own.
func (f *Feature) attach(ctx context.Context) (at uint64, err error) {
	last := f.h.Seq()
	for i := 0; ; i++ {
		f.source = "ahp"
		if i > 0 {
			f.source += "-" + strconv.Itoa(i)
		}
		n, err := f.engine.Position(ctx, f.source)
		if err != nil {
			return 0, err
		}
		if at := uint64(max(n, 0)); at <= last {
			return at, nil
		}
	}
}

// Stop implements host.Feature: what was ordered until now is told.
func (f *Feature) Stop(ctx context.Context) error {
	err := f.h.Observed(ctx)
	f.stop()
	f.work.Wait()
	return err
}

// removed takes back what was configured for a channel that is gone. Its URI may be
// used again by somebody else.
func (f *Feature) removed(channel ahp.URI) {
	if kind := ahp.KindOf(channel); kind != ahp.KindSession && kind != ahp.KindChat || f.ctx.Err() != nil {
		return
	}
	f.work.Go(func() {
		if err := f.engine.RemoveScope(f.ctx, channel); err != nil && f.ctx.Err() == nil {
			f.log.Error("the notifications of a channel that is gone could not be removed; they expire", "channel", channel, "err", err)
		}
	})
}

// capability is what the feature offers a principal.
type capability struct {
	Types    []string         `json:"supportedRouteTypes"`
	Triggers []notify.Trigger `json:"supportedTriggers"`
	Profile  int              `json:"profile"`
	Limits   limits           `json:"limits"`
}

type limits struct {
	Routes   int   `json:"routes"`
	MaxTTLMs int64 `json:"maxTtlMs"`
}

// maxTTL is how long a configuration lives at most (tool-call notifications, 12.2).
const maxTTL = 30 * 24 * time.Hour

func (f *Feature) capability(principal string) capability {
	return capability{
		Types: f.engine.Types(principal, nil), Triggers: notify.SupportedTriggers(), Profile: 1,
		Limits: limits{Routes: notify.MaxRoutes, MaxTTLMs: maxTTL.Milliseconds()},
	}
}

// marshal encodes one of our own types, which always encode.
func marshal(v any) jsontext.Value {
	out, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return jsontext.Value("null")
	}
	return out
}
