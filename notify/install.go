package notify

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Filter narrows an installation to some of the calls in its scope
// (notifications, 12.2).
type Filter struct {
	Tools        []string      `json:"tools,omitempty"`        // patterns of path.Match; none: every tool
	Contributors []string      `json:"contributors,omitempty"` // none: every one
	MinDuration  time.Duration `json:"minDuration,omitempty"`
}

// check refuses patterns that match nothing.
func (f *Filter) check() error {
	for _, p := range f.Tools {
		if _, err := path.Match(p, ""); err != nil {
			return invalid("filter.tools: %q is not a pattern", p)
		}
	}
	if len(f.Tools) > 64 || len(f.Contributors) > 64 {
		return invalid("filter: more than 64 patterns")
	}
	return nil
}

func (f *Filter) matches(ev *Event) bool {
	tool := len(f.Tools) == 0 || slices.ContainsFunc(f.Tools, func(p string) bool {
		ok, _ := path.Match(p, ev.Tool)
		return ok
	})
	return tool && (len(f.Contributors) == 0 || slices.Contains(f.Contributors, ev.Contributor))
}

// InstallRequest asks for routes for every call in a scope.
type InstallRequest struct {
	Caller
	Scope  string // such as the URI of a session; events name theirs
	Filter Filter
	TTL    time.Duration // 0: a day
	// Source and Position say how far the log had come: events up to there are
	// not told.
	Source   string
	Position int64
}

// Installation is what was installed.
type Installation struct {
	Ack       // without a call
	ID        string
	Principal string
	Scope     string
	ExpiresAt time.Time
}

// Event is something that happened to a call, from a log whose positions rise.
type Event struct {
	Source      string // of the log
	Position    int64  // of the event in it
	Scopes      []string
	Call        string         // names the call among all of the log
	Subject     jsontext.Value // the member "ahp" of the body
	Tool        string
	Server      string
	Contributor string
	Trigger     Trigger
	End         End            // for a terminal trigger
	Progress    jsontext.Value // for streaming
	Started     time.Time
	At          time.Time
	// May is asked whether a principal may still hear of it; nil: everybody.
	May func(principal string) bool
}

// Install sets routes for every call in a scope until they are removed or expire.
// The result is the acknowledgement. A refusal is a *ConfigError.
func (e *Engine) Install(ctx context.Context, config *Config, r InstallRequest) (Installation, error) {
	if e.isClosing() {
		return Installation{}, ErrClosed
	}
	a := &admission{e: e, caller: r.Caller, config: config}
	if err := r.Filter.check(); err != nil {
		return Installation{}, a.refused(ctx, err)
	}
	if err := a.routes(ctx); err != nil {
		return Installation{}, a.refused(ctx, err)
	}
	ttl := r.TTL
	def(&ttl, e.limits.InstallTTL)
	now := time.Now()
	rec := &install{
		ID: newID(installPrefix), Principal: r.Principal, Client: r.Client, Scope: r.Scope, Configured: config.triggers(),
		MinGap: config.Options.MinInterval, Filter: r.Filter, Source: r.Source, Position: r.Position,
		Created: now, Expires: now.Add(min(ttl, e.limits.MaxInstallTTL)),
	}
	err := e.update(ctx, func(tx Tx) error {
		n, err := tx.Count(Installs, Query{Where: []Cond{{ByPrincipal, r.Principal}}, DueAfter: now, Limit: e.limits.Installations})
		if err != nil {
			return err
		}
		if n >= e.limits.Installations {
			return &ConfigError{Code: CodeInvalidParams, Reason: ReasonQuota, Text: fmt.Sprintf("there are %d configurations already; remove one first", n)}
		}
		if err := a.endpoints(tx, now); err != nil {
			return err
		}
		rec.Routes = a.accepted
		return putInstall(tx, rec)
	})
	if err != nil {
		return Installation{}, a.refused(ctx, err)
	}
	e.metrics.configs.WithLabelValues("accepted").Inc()
	e.verifyAll(a.verify)
	a.ack.Accepted = ids(a.accepted)
	return Installation{Ack: a.ack, ID: rec.ID, Principal: rec.Principal, Scope: rec.Scope, ExpiresAt: rec.Expires}, nil
}

// Remove takes an installation back. What it has caused and is not delivered is
// not sent any more. It returns ErrNotFound for one that is not this principal's.
func (e *Engine) Remove(ctx context.Context, principal, id string) error {
	return e.update(ctx, func(tx Tx) error {
		rec, err := get[install](tx, Installs, id)
		if err != nil {
			return err
		}
		if rec.Principal != principal {
			return ErrNotFound
		}
		return tx.Delete(Installs, id)
	})
}

// RemoveScope takes every installation of a scope back, as when a session is
// disposed of. What they have caused is still delivered.
func (e *Engine) RemoveScope(ctx context.Context, scope string) error {
	return e.update(ctx, func(tx Tx) error {
		list, err := find[install](tx, Installs, Query{Where: []Cond{{ByKey, scope}}})
		if err != nil {
			return err
		}
		for _, rec := range list {
			rec.Expires = time.Now()
			if err := putInstall(tx, rec); err != nil {
				return err
			}
		}
		return nil
	})
}

// Installations lists what a principal has installed in a scope, or everywhere
// if scope is empty.
func (e *Engine) Installations(ctx context.Context, principal, scope string) ([]Installation, error) {
	where := []Cond{{ByPrincipal, principal}}
	if scope != "" {
		where = append(where, Cond{ByKey, scope})
	}
	var list []Installation
	err := e.store.View(ctx, func(tx Tx) error {
		found, err := find[install](tx, Installs, Query{Where: where, DueAfter: time.Now(), Order: OrderCreated})
		for _, rec := range found {
			list = append(list, Installation{
				Ack: Ack{Accepted: ids(rec.Routes)}, ID: rec.ID, Principal: rec.Principal, Scope: rec.Scope, ExpiresAt: rec.Expires,
			})
		}
		return err
	})
	return list, err
}

// Position is the last event of a source that was committed; 0 if none was. An
// event that no installation matched need not have been.
func (e *Engine) Position(ctx context.Context, source string) (at int64, err error) {
	err = e.store.View(ctx, func(tx Tx) error {
		at, err = position(tx, source)
		return err
	})
	return at, err
}

func position(tx Tx, source string) (int64, error) {
	row, err := tx.Get(Positions, source)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(row.Doc), 10, 64)
}

// Fire takes one event of a log; positions must not fall, and several events may
// share one. The position is committed together with what it causes, so reading
// again from Position on after a crash fires no terminal trigger twice.
func (e *Engine) Fire(ctx context.Context, ev Event) error {
	some := false
	err := e.store.View(ctx, func(tx Tx) error {
		list, err := e.matching(tx, &ev)
		some = len(list) > 0
		return err
	})
	if err != nil || !some {
		return err
	}
	var fired []*delivery
	err = e.update(ctx, func(tx Tx) error {
		at, err := position(tx, ev.Source)
		if err != nil || ev.Position < at {
			return err
		}
		list, err := e.matching(tx, &ev)
		if err != nil {
			return err
		}
		for _, rec := range list {
			more, err := e.follow(ctx, tx, rec, &ev)
			if err != nil {
				return err
			}
			fired = append(fired, more...)
		}
		return tx.Put(Positions, Row{ID: ev.Source, Doc: []byte(strconv.FormatInt(ev.Position, 10))})
	})
	if err != nil {
		return fmt.Errorf("tell of event %d: %w", ev.Position, err)
	}
	e.metrics.triggers.WithLabelValues(string(ev.Trigger)).Inc()
	e.start(fired)
	return nil
}

// matching are the installations that an event is for.
func (e *Engine) matching(tx Tx, ev *Event) (list []*install, err error) {
	for _, scope := range ev.Scopes {
		found, err := find[install](tx, Installs, Query{Where: []Cond{{ByKey, scope}}, DueAfter: ev.At})
		if err != nil {
			return nil, err
		}
		for _, rec := range found {
			old := rec.Source == ev.Source && ev.Position <= rec.Position
			if !old && rec.Filter.matches(ev) && (ev.May == nil || ev.May(rec.Principal)) {
				list = append(list, rec)
			}
		}
	}
	return list, nil
}

// follow makes what an event means for one installation.
func (e *Engine) follow(ctx context.Context, tx Tx, rec *install, ev *Event) ([]*delivery, error) {
	c, err := e.followed(tx, rec, ev)
	if err != nil || c.State != callRunning {
		return nil, err
	}
	if ev.Trigger.Terminal() {
		if ev.At.Sub(c.Started) < rec.Filter.MinDuration {
			c.State, c.Trigger, c.Ended = callFiltered, ev.Trigger, ev.At
			return nil, putCall(tx, c)
		}
		end := ev.End
		end.Trigger, end.Silent = ev.Trigger, true
		clean, hidden := end.clean(e.mask(ctx, c))
		return e.end(tx, c, clean, hidden, ev.At)
	}
	if ev.Trigger == Streaming && ev.At.Before(c.NextItem) {
		c.Skipped++
		return nil, putCall(tx, c)
	}
	progress, hidden := maskValue(ev.Progress)
	if _, err := e.foldStreaming(tx, c, ev.At); err != nil {
		return nil, err
	}
	it := item{trigger: ev.Trigger, fired: ev.At, progress: progress, hidden: hidden, skipped: c.Skipped}
	fired, err := e.fire(tx, c, it, nil)
	if err != nil {
		return nil, err
	}
	gap := rec.MinGap
	def(&gap, defaultGap)
	c.Skipped, c.NextItem = 0, ev.At.Add(gap)
	return fired, putCall(tx, c)
}

// followed is the record of the event's call for one installation, made if this
// is the first that is heard of it.
func (e *Engine) followed(tx Tx, rec *install, ev *Event) (*call, error) {
	key := rec.ID + "\x00" + ev.Call
	old, err := find[call](tx, Calls, Query{Where: []Cond{{ByKey, key}}, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(old) > 0 {
		return old[0], nil
	}
	started := ev.Started
	def(&started, ev.At)
	return &call{
		ID: newID(callPrefix), Principal: rec.Principal, Client: rec.Client, Subject: ev.Subject, Tool: ev.Tool, Server: ev.Server,
		Install: rec.ID, Routes: rec.Routes, Configured: rec.Configured, Key: key, State: callRunning, Started: started,
	}, nil
}
