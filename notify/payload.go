package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// payload is the body of a notification (notifications, 7.1.2).
type payload struct {
	Type      string      `json:"type"`
	Timestamp string      `json:"timestamp"` // when the trigger fired
	Data      payloadData `json:"data"`
}

type payloadData struct {
	NotificationID string         `json:"notificationId"`
	CallID         string         `json:"callId"`
	RequestID      jsontext.Value `json:"requestId,omitzero"`
	AHP            jsontext.Value `json:"ahp,omitzero"`
	RouteID        string         `json:"routeId"`
	Tool           payloadTool    `json:"tool"`
	Trigger        Trigger        `json:"trigger"`
	Seq            int64          `json:"seq"`
	Final          bool           `json:"final,omitzero"`
	StartedAt      string         `json:"startedAt,omitempty"`
	FinishedAt     string         `json:"finishedAt,omitempty"`
	Result         jsontext.Value `json:"result,omitzero"`
	ResultRef      *resultRef     `json:"resultRef,omitzero"`
	Error          *CallError     `json:"error,omitzero"`
	Progress       jsontext.Value `json:"progress,omitzero"`
	Skipped        int64          `json:"skipped,omitzero"`
	Masked         []string       `json:"masked,omitempty"`
}

type payloadTool struct {
	Name   string `json:"name"`
	Server string `json:"server,omitempty"`
}

type resultRef struct {
	CallID    string `json:"callId"`
	Bytes     int    `json:"bytes"`
	SHA256    string `json:"sha256"`
	ExpiresAt string `json:"expiresAt,omitempty"` // absent: the result was too large to be kept
}

// item is what a body is made of. Its texts are masked already.
type item struct {
	id       string
	trigger  Trigger
	seq      int64
	route    string
	level    Level
	fired    time.Time
	end      End
	hidden   []string
	progress jsontext.Value
	skipped  int64
}

// freeze makes the bytes that every attempt sends.
func (c *call) freeze(it *item, l *Limits) []byte {
	p := payload{
		Type: "mcp.tool_call." + kind(it.trigger), Timestamp: stamp(it.fired),
		Data: payloadData{
			NotificationID: it.id, CallID: c.ID, RequestID: c.RequestID, AHP: c.Subject, RouteID: it.route,
			Tool: payloadTool{Name: c.Tool, Server: c.Server}, Trigger: it.trigger, Seq: it.seq, Final: it.trigger.Terminal(),
		},
	}
	if it.level != PayloadNone {
		c.thin(&p.Data, it)
	}
	if it.level != PayloadFull {
		return mustJSON(p)
	}
	if it.end.Error != nil {
		p.Data.Error = it.end.Error
	}
	p.Data.Result, p.Data.Progress, p.Data.Masked = it.end.Result, it.progress, it.hidden
	if body := mustJSON(p); len(body) <= l.PayloadBytes {
		return body
	}
	p.Data.Progress, p.Data.Masked = nil, nil
	if p.Data.Result != nil {
		p.Data.Result, p.Data.ResultRef = nil, c.reference(it.end.Result, it.fired, l)
	}
	return mustJSON(p)
}

// thin adds what tells nothing of the content.
func (c *call) thin(d *payloadData, it *item) {
	d.Skipped = it.skipped
	d.StartedAt = stamp(c.Started)
	if it.trigger.Terminal() {
		d.FinishedAt = stamp(it.fired)
	}
	if it.end.Error != nil {
		d.Error = &CallError{Category: it.end.Error.Category}
	}
}

func (c *call) reference(result jsontext.Value, at time.Time, l *Limits) *resultRef {
	sum := sha256.Sum256(result)
	ref := &resultRef{CallID: c.ID, Bytes: len(result), SHA256: hex.EncodeToString(sum[:])}
	if len(result) <= l.ResultBytes {
		ref.ExpiresAt = stamp(at.Add(l.KeepCalls))
	}
	return ref
}

// kind is the last part of a body's type: a vendor trigger without its prefix.
func kind(t Trigger) string {
	_, name, found := strings.Cut(string(t), "/")
	if !found {
		return string(t)
	}
	return name
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
