package ahp

import "github.com/go-json-experiment/json/jsontext"

// Notifications of windowed delivery and of TCP channels, and the request that
// opens one (AHP core, 12 and 13).
const (
	MethodChannelSnapshot = "channel/snapshot" // data, host to client
	MethodChannelFrame    = "channel/frame"    // data, either way
	MethodChannelCredit   = "channel/credit"   // control, either way
	MethodChannelReset    = "channel/reset"    // control: accepted, never sent
	MethodChannelReady    = "channel/ready"    // control: ignored, never sent

	MethodCreateTCPConnection = "createTcpConnection"
	MethodTCPData             = "tcp/data"  // data, either way
	MethodTCPEOF              = "tcp/eof"   // data, either way
	MethodTCPReset            = "tcp/reset" // control, either way
)

// ChannelReceiveLimits is what one side can receive on a windowed subscription.
type ChannelReceiveLimits struct {
	WindowBytes       int64          `json:"windowBytes"`       // soft, at least 1
	MaximumFrameBytes int64          `json:"maximumFrameBytes"` // hard, at least 1024
	Extra             jsontext.Value `json:",embed"`
}

// FlowControlOffer asks for a windowed subscription.
type FlowControlOffer struct {
	Receive ChannelReceiveLimits `json:"receive"`
	Extra   jsontext.Value       `json:",embed"`
}

// FlowControl accepts it.
type FlowControl struct {
	ClientReceive ChannelReceiveLimits `json:"clientReceive"`
	HostReceive   ChannelReceiveLimits `json:"hostReceive"`
	Extra         jsontext.Value       `json:",embed"`
}

// ChannelSnapshotParams is the first data message of a windowed subscription.
type ChannelSnapshotParams struct {
	Channel  URI            `json:"channel"`
	Snapshot Snapshot       `json:"snapshot"`
	Extra    jsontext.Value `json:",embed"`
}

// ChannelFrameParams is a piece of a data message that is too large for one.
// Data is a piece of its JSON text and not empty; only Final completes it.
type ChannelFrameParams struct {
	Channel URI            `json:"channel"`
	Data    string         `json:"data"`
	Final   bool           `json:"final,omitzero"`
	Extra   jsontext.Value `json:",embed"`
}

// ChannelCreditParams gives back what was received. ConsumedBytes counts from the
// beginning of the subscription or of its recovery, in the measure of the window.
type ChannelCreditParams struct {
	Channel       URI            `json:"channel"`
	ConsumedBytes int64          `json:"consumedBytes"`
	Extra         jsontext.Value `json:",embed"`
}

// WindowsOffer is what a reconnect asks to recover windowed (AHP core, 12.6).
type WindowsOffer struct {
	Items []WindowOffer  `json:"items"`
	Extra jsontext.Value `json:",embed"`
}

// WindowOffer is one channel of it, with the last action that was applied to its
// state; nil asks for a snapshot. The limits are those of before the loss.
type WindowOffer struct {
	Channel              URI            `json:"channel"`
	LastAppliedServerSeq *uint64        `json:"lastAppliedServerSeq,omitzero"`
	Extra                jsontext.Value `json:",embed"`
}

// How a windowed channel recovers. The set is closed.
const (
	RecoveryReplay   = "replay"
	RecoverySnapshot = "snapshot"
	RecoveryLive     = "live"
)

// WindowsResult answers a WindowsOffer. A requested channel that is not in it is
// gone.
type WindowsResult struct {
	Items []WindowResult `json:"items"`
	Extra jsontext.Value `json:",embed"`
}

// WindowResult is one channel that goes on, under fresh windows.
type WindowResult struct {
	Channel     URI            `json:"channel"`
	FlowControl FlowControl    `json:"flowControl"`
	Recovery    string         `json:"recovery"`
	Extra       jsontext.Value `json:",embed"`
}

// CreateTCPConnectionParams asks the host to connect to a destination on its own
// network. Channel is chosen by the client; Port is 1 to 65535.
type CreateTCPConnectionParams struct {
	Channel URI            `json:"channel"`
	Host    string         `json:"host"`
	Port    int            `json:"port"`
	Meta    jsontext.Value `json:"_meta,omitzero"`
	Extra   jsontext.Value `json:",embed"`
}

// TCPDataParams carries bytes: padded RFC 4648 base64, not empty, no whitespace.
type TCPDataParams struct {
	Channel URI            `json:"channel"`
	Data    string         `json:"data"`
	Extra   jsontext.Value `json:",embed"`
}
