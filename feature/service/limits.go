package service

import (
	"time"

	"github.com/causeway-ahp/causeway/ahp"
)

// Limits are the bounds of the relay (AHP core, 15.6). The zero value of a field
// means its default. What waits for a recipient is bounded by host.Limits.
type Limits struct {
	// ServicesPerConn and Services bound the registrations.
	ServicesPerConn int
	Services        int
	// MetadataBytes bounds a registration's metadata, as it is sent.
	MetadataBytes int
	// MethodBytes bounds the name of a method, in bytes of UTF-8.
	MethodBytes int
	// ParamsBytes bounds what a notification or a call carries.
	ParamsBytes int
	// ResultBytes, ErrorMessageBytes and ErrorDataBytes bound what a service
	// answers.
	ResultBytes       int
	ErrorMessageBytes int
	ErrorDataBytes    int
	// CallsPerConn and CallsPerService bound the calls without an answer.
	CallsPerConn    int
	CallsPerService int
	// Depth bounds the nesting of metadata, params, results and error data.
	Depth int
	// Timeout is that of a call that names none, MaxTimeout the longest.
	Timeout    time.Duration
	MaxTimeout time.Duration
	// Rate bounds the messages a connection may send in a second; negative, and
	// by default, there is no such bound. FloodPatience is how long a connection
	// may send above it before it is closed.
	Rate          int
	FloodPatience time.Duration
}

// DefaultLimits are the bounds unless told otherwise.
var DefaultLimits = Limits{
	ServicesPerConn:   32,
	Services:          1024,
	MetadataBytes:     8 << 10,
	MethodBytes:       128,
	ParamsBytes:       1 << 20,
	ResultBytes:       4 << 20,
	ErrorMessageBytes: 4 << 10,
	ErrorDataBytes:    64 << 10,
	CallsPerConn:      64,
	CallsPerService:   256,
	Depth:             64,
	Timeout:           30 * time.Second,
	MaxTimeout:        300 * time.Second,
	Rate:              -1,
	FloodPatience:     10 * time.Second,
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits
	fill(&l.ServicesPerConn, d.ServicesPerConn)
	fill(&l.Services, d.Services)
	fill(&l.MetadataBytes, d.MetadataBytes)
	fill(&l.MethodBytes, d.MethodBytes)
	fill(&l.ParamsBytes, d.ParamsBytes)
	fill(&l.ResultBytes, d.ResultBytes)
	fill(&l.ErrorMessageBytes, d.ErrorMessageBytes)
	fill(&l.ErrorDataBytes, d.ErrorDataBytes)
	fill(&l.CallsPerConn, d.CallsPerConn)
	fill(&l.CallsPerService, d.CallsPerService)
	fill(&l.Depth, d.Depth)
	fill(&l.Timeout, d.Timeout)
	fill(&l.MaxTimeout, d.MaxTimeout)
	fill(&l.Rate, d.Rate)
	fill(&l.FloodPatience, d.FloodPatience)
	return l
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// info is what InitializeResult says of the relay.
func (l *Limits) info() ahp.ClientServicesInfo {
	return ahp.ClientServicesInfo{
		Channel: ahp.ClientServicesURI,
		Limits: ahp.ClientServiceLimits{
			MetadataBytes:         int64(l.MetadataBytes),
			MethodNameLength:      int64(l.MethodBytes),
			ParamsBytes:           int64(l.ParamsBytes),
			ResultBytes:           int64(l.ResultBytes),
			ServicesPerConnection: int64(l.ServicesPerConn),
			RequestsInFlight:      int64(l.CallsPerConn),
			DefaultTimeoutMs:      l.Timeout.Milliseconds(),
			MaximumTimeoutMs:      l.MaxTimeout.Milliseconds(),
		},
	}
}
