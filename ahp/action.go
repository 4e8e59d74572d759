package ahp

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Action is one change of a channel's state: a pointer to one of the action
// types of this package, or *UnknownAction. Actions are immutable once shared.
type Action interface {
	// ActionType is the wire name, such as "chat/delta".
	ActionType() string
}

// ActionBase holds what every action carries beside its own members.
type ActionBase struct {
	// Type is only set while a wire form is decoded; ActionType is the name.
	Type  string         `json:"type,omitzero"`
	Meta  jsontext.Value `json:"_meta,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

func (b *ActionBase) meta() jsontext.Value { return b.Meta }
func (b *ActionBase) clearType()           { b.Type = "" }

// UnknownAction is an action of a type this build does not know. It changes no
// state and is passed on as it stands.
type UnknownAction struct {
	Type string
	Raw  jsontext.Value
}

// ActionType implements Action.
func (a *UnknownAction) ActionType() string { return a.Type }

// DecodeAction decodes one action. An unknown type is no error; an object
// without a type is one.
func DecodeAction(raw jsontext.Value) (Action, error) {
	name, ok := memberString(raw, "type")
	if !ok {
		return nil, fmt.Errorf("action without a type")
	}
	info, ok := actions[name]
	if !ok {
		return &UnknownAction{Type: name, Raw: raw.Clone()}, nil
	}
	a := info.new()
	if err := json.Unmarshal(raw, a, decodeOptions); err != nil {
		return nil, fmt.Errorf("action %s: %w", name, err)
	}
	a.(interface{ clearType() }).clearType()
	return a, nil
}

// EncodeAction encodes an action with its type.
func EncodeAction(a Action) (jsontext.Value, error) {
	if u, ok := a.(*UnknownAction); ok {
		return u.Raw, nil
	}
	body, err := json.Marshal(a, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("action %s: %w", a.ActionType(), err)
	}
	return tagged("type", a.ActionType(), body), nil
}

// Known reports whether this build knows the action type name.
func Known(name string) bool { _, ok := actions[name]; return ok }

// ClientMayDispatch reports whether the protocol lets a client send the action
// type at all; the host still decides about the single action (AHP core, 6.3).
func ClientMayDispatch(name string) bool { return actions[name].fromClient }

// Since is the protocol version that introduced an action type, "" for one
// this build does not know (AHP channels, 1.5).
func Since(name string) string { return actions[name].since }

// BelongsTo reports whether the action type is one of a kind of channel.
func BelongsTo(name string, k Kind) bool {
	prefix, _, _ := strings.Cut(name, "/")
	return prefix == string(k)
}

// ActionTypes returns the names of all action types this build knows.
func ActionTypes() []string {
	names := make([]string, 0, len(actions))
	for n := range actions {
		names = append(names, n)
	}
	return names
}

type actionInfo struct {
	new        func() Action
	since      string
	fromClient bool
}

// AnyAction carries an action of any type through JSON.
type AnyAction struct{ Action }

// MarshalJSONTo implements json.MarshalerTo.
func (a AnyAction) MarshalJSONTo(enc *jsontext.Encoder) error {
	if a.Action == nil {
		return fmt.Errorf("encode: no action")
	}
	raw, err := EncodeAction(a.Action)
	if err != nil {
		return err
	}
	return enc.WriteValue(raw)
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (a *AnyAction) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	a.Action, err = DecodeAction(raw)
	return err
}

// Origin names the dispatch an envelope echoes.
type Origin struct {
	ClientID  string         `json:"clientId"`
	ClientSeq uint64         `json:"clientSeq"`
	Extra     jsontext.Value `json:",embed"`
}

// ActionEnvelope is an action as the host ordered it (AHP core, 6.2). Origin
// is nil for an action of the host. An envelope with a RejectionReason must
// not be reduced.
type ActionEnvelope struct {
	Channel         URI            `json:"channel"`
	Action          AnyAction      `json:"action"`
	ServerSeq       uint64         `json:"serverSeq"`
	Origin          *Origin        `json:"origin,omitzero"`
	RejectionReason *string        `json:"rejectionReason,omitzero"`
	Extra           jsontext.Value `json:",embed"`
}

// EnvelopeHead is what routing needs of an envelope: everything but the action,
// which stays encoded. Channel and Action alias the params they were read from.
type EnvelopeHead struct {
	Channel   []byte // a URI, as bytes because it is only looked up
	ServerSeq uint64
	Action    jsontext.Value
	Origin    Origin // the zero value without one
	HasOrigin bool
	Rejected  bool
}

// ScanEnvelope reads the head of an envelope from validated params without
// decoding the action.
func ScanEnvelope(params jsontext.Value) (h EnvelopeHead, err error) {
	var seqOK bool
	jsonrpc.EachMember(params, func(name []byte, v jsontext.Value) bool {
		switch string(name) {
		case "channel":
			h.Channel, _ = jsonrpc.StringBytes(v)
		case "serverSeq":
			h.ServerSeq, seqOK = parseSeq(v)
		case "action":
			h.Action = v
		case "origin":
			h.Origin, h.HasOrigin = scanOrigin(v)
		case "rejectionReason":
			h.Rejected = v.Kind() == '"'
		}
		return true
	})
	if len(h.Channel) == 0 || !seqOK || h.Action.Kind() != '{' {
		return h, fmt.Errorf("envelope needs channel, serverSeq and action")
	}
	return h, nil
}

func scanOrigin(v jsontext.Value) (o Origin, ok bool) {
	if v.Kind() != '{' { // null, which one client library sends, means none
		return o, false
	}
	jsonrpc.EachMember(v, func(name []byte, v jsontext.Value) bool {
		switch string(name) {
		case "clientId":
			o.ClientID, ok = jsonrpc.StringValue(v)
		case "clientSeq":
			o.ClientSeq, _ = parseSeq(v)
		}
		return true
	})
	return o, ok
}

func parseSeq(v jsontext.Value) (uint64, bool) {
	n, err := strconv.ParseUint(string(v), 10, 64)
	return n, err == nil
}
