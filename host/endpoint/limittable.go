package endpoint

import (
	"github.com/causeway-ahp/causeway/internal/limit"
	"github.com/causeway-ahp/causeway/transport/websocket"
)

// DefaultLimits are the limits of a connection unless told otherwise.
var DefaultLimits = websocket.Options{
	MaxMessageBytes: websocket.DefaultHostMaxMessageBytes,
	WriteTimeout:    websocket.DefaultWriteTimeout,
	PingInterval:    websocket.DefaultHostPingInterval,
}

// Rows are the limits of a connection's carrier as rows of the table of all limits,
// over the fields of o.
func Rows(o *websocket.Options) []limit.Row {
	const silent = `causeway_closes_total{cause="silent"}`
	return []limit.Row{
		{Name: "message-bytes", Value: &o.MaxMessageBytes, Unit: limit.Bytes, Bounds: "a message of a client", Policy: "close 1009 `too-large`, before it is read", Counter: `causeway_closes_total{cause="too-large"}`, Field: "endpoint.Options.WebSocket.MaxMessageBytes", Source: "AHP core, 17, 20"},
		{Name: "ping-interval", Value: &o.PingInterval, Bounds: "how long a client may be silent before it is pinged, and then once more", Policy: "the connection ends `silent`", Counter: silent, Field: "endpoint.Options.WebSocket.PingInterval", Source: "own"},
		{Name: "write-timeout", Value: &o.WriteTimeout, Bounds: "how long a write to a client may take", Policy: "the connection ends `silent`", Counter: silent, Field: "endpoint.Options.WebSocket.WriteTimeout", Source: "own"},
	}
}
