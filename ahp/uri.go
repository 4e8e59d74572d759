package ahp

import "strings"

// URI is an AHP URI. URIs are opaque and compared byte for byte
// (AHP core, 3, Channels).
type URI = string

// The channels with a fixed URI.
const (
	RootURI           URI = "ahp-root://"
	ClientServicesURI URI = "ahp-client-services://"
)

// Prefixes of the channel kinds of the core protocol.
const (
	SessionPrefix       = "ahp-session:/"
	ChatPrefix          = "ahp-chat:/"
	TerminalPrefix      = "ahp-terminal:/"
	ChangesetPrefix     = "ahp-changeset:/"
	ResourceWatchPrefix = "ahp-resource-watch:/"
	AutomationsURI      = "ahp-automations://"
	TCPPrefix           = "ahp-tcp:"
	OTLPPrefix          = "ahp-otlp:"
	annotationsSuffix   = "/annotations"
)

// Kind names the reducer a channel uses.
type Kind string

// The channel kinds of the core protocol.
const (
	KindRoot           Kind = "root"
	KindSession        Kind = "session"
	KindChat           Kind = "chat"
	KindTerminal       Kind = "terminal"
	KindChangeset      Kind = "changeset"
	KindAnnotations    Kind = "annotations"
	KindResourceWatch  Kind = "resourceWatch"
	KindClientServices Kind = "clientService" // the prefix of its actions
	KindTCP            Kind = "tcp"           // private to a connection, without state
	KindOTLP           Kind = "otlp"          // telemetry, without state
	KindUnknown        Kind = ""
)

// KindOf tells the kind of a channel from its URI, KindUnknown for a scheme
// this build does not know. The reducer is chosen by the channel, never by the
// prefix of an action (AHP channels, 1.2).
func KindOf(u URI) Kind {
	switch {
	case u == RootURI:
		return KindRoot
	case strings.HasPrefix(u, SessionPrefix):
		if strings.HasSuffix(u, annotationsSuffix) {
			return KindAnnotations
		}
		return KindSession
	case strings.HasPrefix(u, ChatPrefix):
		return KindChat
	case strings.HasPrefix(u, TerminalPrefix):
		return KindTerminal
	case strings.HasPrefix(u, ChangesetPrefix):
		return KindChangeset
	case strings.HasPrefix(u, ResourceWatchPrefix):
		return KindResourceWatch
	case u == ClientServicesURI:
		return KindClientServices
	case strings.HasPrefix(u, TCPPrefix):
		return KindTCP
	case strings.HasPrefix(u, OTLPPrefix):
		return KindOTLP
	}
	return KindUnknown
}

// AnnotationsURI is the annotations channel of a session.
func AnnotationsURI(session URI) URI { return session + annotationsSuffix }
