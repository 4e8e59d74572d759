package service

import "github.com/causeway-ahp/causeway/internal/limit"

// Names of the limits, by which they are counted.
const (
	limitPerConn    = "services-per-connection"
	limitServices   = "services"
	limitMetadata   = "service-metadata-bytes"
	limitMethod     = "service-method-bytes"
	limitParams     = "service-params-bytes"
	limitResult     = "service-result-bytes"
	limitMessage    = "service-error-message-bytes"
	limitData       = "service-error-data-bytes"
	limitCalls      = "service-calls-per-connection"
	limitCallsOf    = "service-calls-per-service"
	limitDepth      = "service-depth"
	limitTimeout    = "service-timeout"
	limitMaxTimeout = "service-timeout-max"
	limitRate       = "service-rate"
	limitPatience   = "service-flood-patience"
)

const (
	ownRule = "AHP core, 15.6"
	refuse  = "error -31012"
	drop    = "a notification is dropped, a call answered InvalidParams"
)

// Rows are the limits as rows of the table of all limits, over the fields of l.
func (l *Limits) Rows() []limit.Row {
	return []limit.Row{
		{Name: limitPerConn, Value: &l.ServicesPerConn, Unit: "services", Bounds: "services of one connection", Policy: refuse, Field: "service.Limits.ServicesPerConn", Source: ownRule},
		{Name: limitServices, Value: &l.Services, Unit: "services", Bounds: "services of the host", Policy: refuse, Field: "service.Limits.Services", Source: ownRule},
		{Name: limitMetadata, Value: &l.MetadataBytes, Unit: limit.Bytes, Bounds: "metadata of a service", Policy: "error InvalidParams", Field: "service.Limits.MetadataBytes", Source: ownRule},
		{Name: limitMethod, Value: &l.MethodBytes, Unit: limit.Bytes, Bounds: "the name of a method", Policy: drop, Field: "service.Limits.MethodBytes", Source: ownRule},
		{Name: limitParams, Value: &l.ParamsBytes, Unit: limit.Bytes, Bounds: "what a notification or a call carries", Policy: drop, Field: "service.Limits.ParamsBytes", Source: ownRule},
		{Name: limitResult, Value: &l.ResultBytes, Unit: limit.Bytes, Bounds: "a result", Policy: "the caller gets error -31013", Field: "service.Limits.ResultBytes", Source: ownRule},
		{Name: limitMessage, Value: &l.ErrorMessageBytes, Unit: limit.Bytes, Bounds: "the message of an error", Policy: "the caller gets error -31013", Field: "service.Limits.ErrorMessageBytes", Source: ownRule},
		{Name: limitData, Value: &l.ErrorDataBytes, Unit: limit.Bytes, Bounds: "the data of an error", Policy: "the caller gets error -31013", Field: "service.Limits.ErrorDataBytes", Source: ownRule},
		{Name: limitCalls, Value: &l.CallsPerConn, Unit: "calls", Bounds: "calls of one connection without an answer", Policy: refuse, Field: "service.Limits.CallsPerConn", Source: ownRule},
		{Name: limitCallsOf, Value: &l.CallsPerService, Unit: "calls", Bounds: "calls to one service without an answer", Policy: refuse, Field: "service.Limits.CallsPerService", Source: ownRule},
		{Name: limitDepth, Value: &l.Depth, Unit: "levels", Bounds: "nesting of metadata, params, results and error data", Policy: drop + "; of an answer: the caller gets error -31013", Field: "service.Limits.Depth", Source: ownRule},
		{Name: limitTimeout, Value: &l.Timeout, Bounds: "a call that names no timeout", Policy: "error -31011", Field: "service.Limits.Timeout", Source: "AHP core, 15.5"},
		{Name: limitMaxTimeout, Value: &l.MaxTimeout, Bounds: "the timeout a call may name", Policy: "lowered to it", Field: "service.Limits.MaxTimeout", Source: "AHP core, 15.5"},
		{Name: limitRate, Value: &l.Rate, Unit: "messages a second", Bounds: "what one connection may send to services", Policy: "a notification is dropped, a call answered -31012", Field: "service.Limits.Rate", Source: ownRule},
		{Name: limitPatience, Value: &l.FloodPatience, Bounds: "how long it may send above that", Policy: "close 1008 `flood`", Field: "service.Limits.FloodPatience", Source: ownRule},
	}
}

// reached counts a limit on the way to the refusal it is the reason for.
func (f *Feature) reached(name string) {
	if f.host != nil { // it has started
		f.host.LimitReached(name)
	}
}
