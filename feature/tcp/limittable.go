package tcp

import "github.com/causeway-ahp/causeway/internal/limit"

// Names of the limits that are counted by name.
const (
	limitPerClient    = "tcp-per-connection"
	limitPerPrincipal = "tcp-per-principal"
	limitOpen         = "tcp-open-timeout"
)

// Rows are the limits as rows of the table of all limits, over the fields of l.
func (l *Limits) Rows() []limit.Row {
	const rule = "AHP core, 13"
	return []limit.Row{
		{Name: limitPerClient, Value: &l.PerClient, Unit: "TCP connections", Bounds: "TCP connections of one connection", Policy: "error PermissionDenied that says so", Field: "tcp.Limits.PerClient", Source: rule},
		{Name: limitPerPrincipal, Value: &l.PerPrincipal, Unit: "TCP connections", Bounds: "TCP connections of one principal", Policy: "error PermissionDenied that says so", Field: "tcp.Limits.PerPrincipal", Source: rule},
		{Name: limitOpen, Value: &l.Open, Bounds: "looking up a name and connecting", Policy: "error TcpConnectionOpenFailed", Field: "tcp.Limits.Open", Source: rule},
		{Name: "tcp-unsubscribed", Value: &l.Unsubscribed, Bounds: "how long a TCP connection waits for its subscriber", Policy: "the TCP connection is reset", Counter: `causeway_tcp_ended_total{how="unsubscribed"}`, Field: "tcp.Limits.Unsubscribed", Source: rule},
		{Name: "tcp-final-drain", Value: &l.FinalDrain, Bounds: "how long a destination may take nothing of the rest", Policy: "the TCP connection is reset", Counter: `causeway_tcp_ended_total{how="drain"}`, Field: "tcp.Limits.FinalDrain", Source: rule},
	}
}
