package notify

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// rotation is how long a replaced key goes on signing beside the new one.
const rotation = 24 * time.Hour

// replaced is the reference under which a key that is being rotated out stands,
// with the Unix time of its end before it.
func replaced(ref string) string { return ref + "~" }

func (e *Engine) secret(ctx context.Context, principal, ref string) (Secret, error) {
	s, err := e.opts.Secrets.Get(ctx, principal, ref)
	if err != nil && !errors.Is(err, ErrNoSecret) {
		return s, fmt.Errorf("read a secret: %w", err)
	}
	return s, err
}

// keyRef is the reference of the key of an endpoint that was configured without
// one.
func (e *Engine) keyRef(principal string, r *Route) string {
	if r.SecretRef != "" {
		return r.SecretRef
	}
	return e.endpointID(principal, r)
}

// ensureKey makes the key of an endpoint whose route names none.
func (e *Engine) ensureKey(ctx context.Context, principal string, t Signer, r *Route) error {
	ref := e.keyRef(principal, r)
	_, err := e.secret(ctx, principal, ref)
	if !errors.Is(err, ErrNoSecret) {
		return err
	}
	if err := e.opts.Secrets.Put(ctx, principal, ref, t.NewKey()); err != nil {
		return fmt.Errorf("keep a key: %w", err)
	}
	return nil
}

// RotateKey replaces a principal's signing key. The old one goes on signing
// beside it for a day, so that a receiver may change over at any moment of it.
func RotateKey(ctx context.Context, s Secrets, principal, ref string, key Secret) error {
	old, err := s.Get(ctx, principal, ref)
	if err != nil && !errors.Is(err, ErrNoSecret) {
		return fmt.Errorf("read the present key: %w", err)
	}
	if err == nil {
		until := strconv.FormatInt(time.Now().Add(rotation).Unix(), 10)
		if err := s.Put(ctx, principal, replaced(ref), NewSecret(until+":"+old.Reveal())); err != nil {
			return fmt.Errorf("keep the old key: %w", err)
		}
	}
	if err := s.Put(ctx, principal, ref, key); err != nil {
		return fmt.Errorf("keep the new key: %w", err)
	}
	return nil
}

// credentialsOf resolves the references of one route of a principal.
type credentialsOf struct {
	e         *Engine
	principal string
	ref       string
}

// Signing implements Credentials.
func (c credentialsOf) Signing(ctx context.Context) ([]Secret, error) {
	key, err := c.e.secret(ctx, c.principal, c.ref)
	if err != nil {
		return nil, err
	}
	keys := []Secret{key}
	old, err := c.e.secret(ctx, c.principal, replaced(c.ref))
	if err != nil {
		return keys, ignoreNoSecret(err)
	}
	until, text, _ := strings.Cut(old.Reveal(), ":")
	if end, err := strconv.ParseInt(until, 10, 64); err == nil && time.Now().Unix() < end {
		keys = append(keys, NewSecret(text))
	}
	return keys, nil
}

// Header implements Credentials.
func (c credentialsOf) Header(ctx context.Context, h Header) (Secret, error) {
	return c.e.secret(ctx, c.principal, h.SecretRef)
}

func (e *Engine) credentials(principal string, r *Route) Credentials {
	return credentialsOf{e: e, principal: principal, ref: e.keyRef(principal, r)}
}
