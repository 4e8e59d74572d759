package webhook

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/causeway-ahp/causeway/notify"
)

// maxReply is how much of a response is read.
const maxReply = 16 << 10

// Categories of what an attempt came to (notifications, 7.1.3).
const (
	categoryRefused   = "connection_refused"
	categoryTimeout   = "timeout"
	categoryTLS       = "tls_error"
	categoryNetwork   = "network_error"
	categoryBlocked   = "blocked_address"
	categoryChallenge = "challenge_failed"
	categorySecret    = "unknown_secret"
)

// Attempt implements notify.RouteType.
func (w *Webhook) Attempt(ctx context.Context, r *notify.Route, m notify.Message, c notify.Credentials) notify.Outcome {
	_, out := w.post(ctx, r, m, c)
	return out
}

// post sends once. Body and headers of an attempt are made together.
func (w *Webhook) post(ctx context.Context, r *notify.Route, m notify.Message, c notify.Credentials) (reply []byte, out notify.Outcome) {
	req, err := w.request(ctx, r, m, c)
	if err != nil {
		return nil, notify.Outcome{Class: notify.ClassSoft, Category: categorySecret}
	}
	client := w.checked
	if r.Grant != "" {
		client = w.allowed
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, failure(err)
	}
	defer resp.Body.Close()
	reply, err = io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil && resp.StatusCode/100 == 2 {
		// The status says that it was taken; what the rest would say nobody asks.
		return nil, notify.Outcome{Class: notify.ClassDelivered, Status: resp.StatusCode}
	}
	return reply, answer(resp, time.Now())
}

func (w *Webhook) request(ctx context.Context, r *notify.Route, m notify.Message, c notify.Credentials) (*http.Request, error) {
	keys, err := c.Signing(ctx)
	if err != nil {
		return nil, err
	}
	unix := time.Now().Unix()
	var server ed25519.PrivateKey
	if w.opts.ServerKey != nil {
		server = w.opts.ServerKey.private
	}
	sig, err := signature(m.ID, unix, m.Body, keys, server)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.Endpoint, bytes.NewReader(m.Body))
	if err != nil {
		return nil, err
	}
	for _, h := range r.Headers {
		value, err := c.Header(ctx, h)
		if err != nil {
			return nil, err
		}
		if strings.ContainsAny(value.Reveal(), "\r\n\x00") {
			return nil, errors.New("a header's value has a line break")
		}
		req.Header.Set(h.Name, value.Reveal())
	}
	set := func(name, value string) { req.Header[http.CanonicalHeaderKey(name)] = []string{value} }
	set("Content-Type", "application/json")
	set("User-Agent", "causeway-webhook/1")
	set("webhook-id", m.ID)
	set("webhook-timestamp", strconv.FormatInt(unix, 10))
	set("webhook-signature", sig)
	set("x-causeway-call-id", m.CallID)
	set("x-causeway-attempt", strconv.Itoa(m.Attempt))
	if m.Trace != "" {
		set("traceparent", m.Trace)
	}
	return req, nil
}

// failure says what an attempt without a response came to.
func failure(err error) notify.Outcome {
	var verification *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var network net.Error
	switch {
	case errors.Is(err, errBlocked):
		return notify.Outcome{Class: notify.ClassPermanent, Category: categoryBlocked}
	case errors.As(err, &verification), errors.As(err, &unknown):
		return notify.Outcome{Class: notify.ClassPermanent, Category: categoryTLS}
	case errors.As(err, &record), errors.As(err, &alert):
		return notify.Outcome{Class: notify.ClassTransient, Category: categoryTLS}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return notify.Outcome{Class: notify.ClassTransient, Category: categoryTimeout}
	case errors.Is(err, syscall.ECONNREFUSED):
		return notify.Outcome{Class: notify.ClassTransient, Category: categoryRefused}
	}
	return notify.Outcome{Class: notify.ClassTransient, Category: categoryNetwork}
}

// answer says what a response means (notifications, 6.3).
func answer(resp *http.Response, now time.Time) notify.Outcome {
	code := resp.StatusCode
	out := notify.Outcome{Status: code, Category: "http_" + strconv.Itoa(code/100) + "xx"}
	out.Abort = strings.EqualFold(resp.Header.Get("webhook-delivery"), "abort-message") && code/100 != 2
	switch {
	case code/100 == 2:
		return notify.Outcome{Class: notify.ClassDelivered, Status: code}
	case code == http.StatusGone:
		out.Class, out.Disable = notify.ClassPermanent, true
	case code == http.StatusRequestEntityTooLarge:
		out.Class = notify.ClassPermanent
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code/100 != 4:
		out.Class = notify.ClassTransient
		out.RetryAfter = retryAfter(resp.Header.Get("Retry-After"), now)
		out.PauseTarget = code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable
	default:
		out.Class = notify.ClassSoft
	}
	return out
}

// retryAfter reads both forms of the header. What makes no sense is ignored.
func retryAfter(value string, now time.Time) time.Time {
	if value == "" {
		return time.Time{}
	}
	if strings.Trim(value, "0123456789") == "" {
		const most = 366 * 24 * 3600
		seconds, err := strconv.Atoi(value)
		if err != nil || seconds > most {
			seconds = most // the engine caps it further
		}
		return now.Add(time.Duration(seconds) * time.Second)
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return at
	}
	return time.Time{}
}
