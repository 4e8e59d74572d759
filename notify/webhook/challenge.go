package webhook

import (
	"bytes"
	"context"
	"crypto/rand"
	"time"

	"github.com/causeway-ahp/causeway/notify"
	"github.com/go-json-experiment/json"
)

// challengeType is the type of the body that asks an endpoint whether it wants
// deliveries.
const challengeType = "io.github.causeway-ahp.challenge"

// challenge is the body. The endpoint answers with 2xx and a body that holds the
// nonce, after it has checked the signature.
type challenge struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Data      struct {
		Nonce string `json:"nonce"`
	} `json:"data"`
}

// Verify implements notify.Verifier. The nonce is good for this one request.
func (w *Webhook) Verify(ctx context.Context, r *notify.Route, c notify.Credentials) notify.Outcome {
	q := challenge{Type: challengeType, Timestamp: time.Now().UTC().Format(time.RFC3339)}
	q.Data.Nonce = rand.Text()
	body, err := json.Marshal(q)
	if err != nil {
		return notify.Outcome{Class: notify.ClassPermanent, Category: categoryChallenge}
	}
	m := notify.Message{ID: "chl_" + rand.Text(), Attempt: 1, Body: body}
	reply, out := w.post(ctx, r, m, c)
	switch {
	case out.Class == notify.ClassDelivered && !bytes.Contains(reply, []byte(q.Data.Nonce)), out.Class == notify.ClassSoft:
		return notify.Outcome{Class: notify.ClassPermanent, Category: categoryChallenge, Status: out.Status}
	}
	return out
}
