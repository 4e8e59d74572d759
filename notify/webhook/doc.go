// Package webhook carries notifications by HTTP POST to an endpoint a caller
// chose, in the way of Standard Webhooks: one id, frozen bytes, a timestamp and a
// signature for each attempt.
//
// It implements notify.RouteType and stands at the outer end of the path of a
// notification: package notify decides what goes out and when, this one sends
// once and says what came of it.
//
// The endpoint is the choice of somebody we do not trust, so:
//
//   - The address is checked after resolution, on the very address that is
//     dialled; a name that changes its mind in between gains nothing.
//   - No redirect is followed, no proxy of the environment is used, certificates
//     are verified.
//   - Nothing of a response comes back but a word for its kind.
//   - An endpoint must be allowed by a rule of the operator, or echo a nonce it
//     was sent, before anything else is delivered to it.
//   - Query strings and user secrets are never shown.
//
// It does not retry, queue or limit: that is the engine's business.
package webhook
