package notify

import "errors"

// choose takes the first route that can deliver a trigger now (notifications,
// 6.2). Without one it takes the first that may later: one whose breaker is
// open, or whose endpoint is being verified, in which case verify is true. -1
// means that there is none.
func (e *Engine) choose(tx Tx, c *call, t Trigger) (route int, verify bool, err error) {
	later, waits := -1, false
	for i := range c.Routes {
		switch s, _, err := e.standing(tx, c, i, c.Routes[i].Lists(t)); {
		case err != nil:
			return -1, false, err
		case s == standsReady:
			return i, false, nil
		case later < 0 && s != standsNever:
			later, waits = i, s == standsVerifying
		}
	}
	return later, waits, nil
}

// standing is whether a route can take a trigger.
type standing int

const (
	standsNever     standing = iota // it does not list it, or is disabled
	standsReady                     // eligible (notifications, 6.1)
	standsPaused                    // its breaker is open, or it is not ready
	standsVerifying                 // its endpoint has not proven itself yet
)

// stands is the standing of one of the routes for a delivery. Where an operator
// sent it, it may go whatever the route lists.
func (e *Engine) stands(tx Tx, c *call, d *delivery, i int) (standing, *endpoint, error) {
	return e.standing(tx, c, i, c.Routes[i].Lists(d.Trigger) || d.Forced && i == d.Route)
}

func (e *Engine) standing(tx Tx, c *call, i int, lists bool) (standing, *endpoint, error) {
	r := &c.Routes[i]
	rt := e.types[r.Type]
	if rt == nil || !lists || !e.authorized(c.Principal) {
		return standsNever, nil, nil
	}
	ep, err := get[endpoint](tx, Endpoints, e.endpointID(c.Principal, r))
	switch {
	case errors.Is(err, ErrNotFound):
		return standsNever, nil, nil
	case err != nil:
		return standsNever, nil, err
	case ep.State == endpointVerifying:
		return standsVerifying, ep, nil
	case ep.State != endpointVerified:
		return standsNever, ep, nil
	case !rt.Ready(c.Principal, r) || !e.dispatch.open(r.Target):
		return standsPaused, ep, nil
	}
	return standsReady, ep, nil
}

func ignoreNotFound(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
