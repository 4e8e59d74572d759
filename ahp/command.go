package ahp

import "github.com/go-json-experiment/json/jsontext"

// Methods of requests and notifications (AHP core, 2.3).
const (
	MethodInitialize     = "initialize"
	MethodReconnect      = "reconnect"
	MethodPing           = "ping"
	MethodSubscribe      = "subscribe"
	MethodUnsubscribe    = "unsubscribe"
	MethodDispatchAction = "dispatchAction"
	MethodAction         = "action"
	MethodListSessions   = "listSessions"
	MethodCreateSession  = "createSession"
	MethodDisposeSession = "disposeSession"
	MethodCreateChat     = "createChat"
	MethodDisposeChat    = "disposeChat"
	MethodFetchTurns     = "fetchTurns"
	MethodCompletions    = "completions"

	MethodResolveSessionConfig     = "resolveSessionConfig"
	MethodSessionConfigCompletions = "sessionConfigCompletions"

	MethodAuthenticate = "authenticate"
	MethodAuthRequired = "auth/required"

	MethodSessionAdded          = "root/sessionAdded"
	MethodSessionRemoved        = "root/sessionRemoved"
	MethodSessionSummaryChanged = "root/sessionSummaryChanged"
	MethodProgress              = "root/progress"
	MethodExportLogs            = "otlp/exportLogs"
	MethodExportTraces          = "otlp/exportTraces"
	MethodExportMetrics         = "otlp/exportMetrics"
)

// Snapshot is the state of a channel at FromSeq; later actions of the channel
// have a greater serverSeq.
type Snapshot struct {
	Resource URI            `json:"resource"`
	State    jsontext.Value `json:"state"`
	FromSeq  uint64         `json:"fromSeq"`
	Extra    jsontext.Value `json:",embed"`
}

// ClientCapabilities are presence flags of a client.
type ClientCapabilities struct {
	MCPApps jsontext.Value `json:"mcpApps,omitzero"`
	Tunnels jsontext.Value `json:"tunnels,omitzero"`
	Extra   jsontext.Value `json:",embed"`
}

// InitializeParams opens a connection.
type InitializeParams struct {
	Channel              URI                 `json:"channel"`
	ProtocolVersions     []string            `json:"protocolVersions"` // most preferred first
	ClientID             string              `json:"clientId"`
	ClientInfo           *Implementation     `json:"clientInfo,omitzero"`
	InitialSubscriptions []URI               `json:"initialSubscriptions,omitzero"`
	Locale               *string             `json:"locale,omitzero"`
	Capabilities         *ClientCapabilities `json:"capabilities,omitzero"`
	Meta                 jsontext.Value      `json:"_meta,omitzero"`
	Extra                jsontext.Value      `json:",embed"`
}

// Environment tells how the host writes paths.
type Environment struct {
	PathStyle *string        `json:"pathStyle,omitzero"` // posix or windows
	Extra     jsontext.Value `json:",embed"`
}

// InitializeResult answers it. Members a feature adds stand in Extra.
type InitializeResult struct {
	ProtocolVersion             string          `json:"protocolVersion"`
	ServerSeq                   uint64          `json:"serverSeq"`
	Snapshots                   []Snapshot      `json:"snapshots"`
	ServerInfo                  *Implementation `json:"serverInfo,omitzero"`
	Meta                        jsontext.Value  `json:"_meta,omitzero"`
	DefaultDirectory            *URI            `json:"defaultDirectory,omitzero"`
	Environment                 *Environment    `json:"environment,omitzero"`
	CompletionTriggerCharacters []string        `json:"completionTriggerCharacters,omitzero"`
	TerminalCommandPrefix       *string         `json:"terminalCommandPrefix,omitzero"`
	Telemetry                   jsontext.Value  `json:"telemetry,omitzero"`
	Automations                 jsontext.Value  `json:"automations,omitzero"`
	Extra                       jsontext.Value  `json:",embed"`
}

// ReconnectParams resumes a lost connection. Subscriptions holds strings, or
// objects {channel, lastSeenServerSeq} in the cursor form (AHP core, 8).
type ReconnectParams struct {
	Channel           *URI             `json:"channel,omitzero"`
	ClientID          string           `json:"clientId"`
	LastSeenServerSeq *uint64          `json:"lastSeenServerSeq,omitzero"`
	Subscriptions     []jsontext.Value `json:"subscriptions"`
	Windows           *WindowsOffer    `json:"windows,omitzero"`
	Meta              jsontext.Value   `json:"_meta,omitzero"`
	Extra             jsontext.Value   `json:",embed"`
}

// ChannelCursor is a subscription of the cursor form.
type ChannelCursor struct {
	Channel           URI            `json:"channel"`
	LastSeenServerSeq uint64         `json:"lastSeenServerSeq"`
	Extra             jsontext.Value `json:",embed"`
}

// Outcomes of a reconnect. The set is closed.
const (
	ReconnectReplay   = "replay"
	ReconnectSnapshot = "snapshot"
	ReconnectMissing  = "missing" // cursor form only
)

// ReconnectResult answers a reconnect. Type is empty in the cursor form, which
// uses Channels.
type ReconnectResult struct {
	Type      string             `json:"type,omitzero"`
	Actions   []ActionEnvelope   `json:"actions,omitzero"`
	Snapshots []Snapshot         `json:"snapshots,omitzero"`
	Missing   []URI              `json:"missing,omitzero"`
	Channels  []ChannelReconnect `json:"channels,omitzero"`
	Windows   *WindowsResult     `json:"windows,omitzero"`
	Extra     jsontext.Value     `json:",embed"`
}

// ChannelReconnect is the outcome for one channel of the cursor form.
type ChannelReconnect struct {
	Kind     string           `json:"kind"`
	Channel  URI              `json:"channel"`
	Actions  []ActionEnvelope `json:"actions,omitzero"`
	Snapshot *Snapshot        `json:"snapshot,omitzero"`
	Extra    jsontext.Value   `json:",embed"`
}

// Delivery bounds deliberate buffering.
type Delivery struct {
	MaxLatencyMS *float64       `json:"maxLatencyMs,omitzero"`
	Extra        jsontext.Value `json:",embed"`
}

// View asks for a part of a state. It is advisory.
type View struct {
	Turns *int64         `json:"turns,omitzero"` // newest completed turns
	Extra jsontext.Value `json:",embed"`
}

// SubscribeParams subscribes to a channel.
type SubscribeParams struct {
	Channel     URI               `json:"channel"`
	Delivery    *Delivery         `json:"delivery,omitzero"`
	View        *View             `json:"view,omitzero"`
	FlowControl *FlowControlOffer `json:"flowControl,omitzero"`
	Meta        jsontext.Value    `json:"_meta,omitzero"`
	Extra       jsontext.Value    `json:",embed"`
}

// SubscribeResult answers it.
type SubscribeResult struct {
	Snapshot    *Snapshot      `json:"snapshot,omitzero"`
	FlowControl *FlowControl   `json:"flowControl,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

// ChannelParams are params with nothing but the channel: ping, unsubscribe,
// disposeSession, disposeChat.
type ChannelParams struct {
	Channel URI            `json:"channel"`
	Meta    jsontext.Value `json:"_meta,omitzero"`
	Extra   jsontext.Value `json:",embed"`
}

// DispatchActionParams carries an action of a client (AHP core, 6.1).
type DispatchActionParams struct {
	Channel   URI            `json:"channel"`
	ClientSeq uint64         `json:"clientSeq"`
	Action    jsontext.Value `json:"action"`
	Extra     jsontext.Value `json:",embed"`
}

// ListSessionsParams asks for a page of sessions.
type ListSessionsParams struct {
	Channel URI            `json:"channel"`
	Limit   *int64         `json:"limit,omitzero"`
	Cursor  *string        `json:"cursor,omitzero"`
	Meta    jsontext.Value `json:"_meta,omitzero"`
	Extra   jsontext.Value `json:",embed"`
}

// ListSessionsResult is that page, most recently modified first.
type ListSessionsResult struct {
	Items      []SessionSummary `json:"items"`
	NextCursor *string          `json:"nextCursor,omitzero"`
	Extra      jsontext.Value   `json:",embed"`
}

// CreateSessionParams creates a session; Channel is its URI, chosen by the
// client. WorkingDirectory is the form before 0.7.
type CreateSessionParams struct {
	Channel            URI                       `json:"channel"`
	Provider           *string                   `json:"provider,omitzero"`
	WorkingDirectories []URI                     `json:"workingDirectories,omitzero"`
	WorkingDirectory   *URI                      `json:"workingDirectory,omitzero"`
	Repositories       []jsontext.Value          `json:"repositories,omitzero"`
	Config             map[string]jsontext.Value `json:"config,omitzero"`
	ActiveClient       *SessionActiveClient      `json:"activeClient,omitzero"`
	ProgressToken      *string                   `json:"progressToken,omitzero"`
	Meta               jsontext.Value            `json:"_meta,omitzero"`
	Extra              jsontext.Value            `json:",embed"`
}

// ChatSource is the chat and turn a new chat starts from.
type ChatSource struct {
	Kind      string         `json:"kind"` // fork or sideChat
	Chat      URI            `json:"chat"`
	TurnID    string         `json:"turnId"`
	Selection jsontext.Value `json:"selection,omitzero"`
	Extra     jsontext.Value `json:",embed"`
}

// CreateChatParams adds a chat to the session Channel.
type CreateChatParams struct {
	Channel            URI            `json:"channel"`
	Chat               URI            `json:"chat"`
	InitialMessage     *Message       `json:"initialMessage,omitzero"`
	Source             *ChatSource    `json:"source,omitzero"`
	WorkingDirectories []URI          `json:"workingDirectories,omitzero"`
	Meta               jsontext.Value `json:"_meta,omitzero"`
	Extra              jsontext.Value `json:",embed"`
}

// FetchTurnsParams asks for older turns of the chat Channel.
type FetchTurnsParams struct {
	Channel URI            `json:"channel"`
	Cursor  *string        `json:"cursor,omitzero"`
	Meta    jsontext.Value `json:"_meta,omitzero"`
	Extra   jsontext.Value `json:",embed"`
}

// CompletionsParams asks what could be typed. Offset counts UTF-16 units.
type CompletionsParams struct {
	Channel URI            `json:"channel"`
	Kind    string         `json:"kind"`
	Text    string         `json:"text"`
	Offset  int64          `json:"offset"`
	Meta    jsontext.Value `json:"_meta,omitzero"`
	Extra   jsontext.Value `json:",embed"`
}

// ResolveSessionConfigParams asks which properties a session would have.
type ResolveSessionConfigParams struct {
	Channel            URI                       `json:"channel"`
	Provider           *string                   `json:"provider,omitzero"`
	WorkingDirectory   *URI                      `json:"workingDirectory,omitzero"`
	WorkingDirectories []URI                     `json:"workingDirectories,omitzero"`
	Config             map[string]jsontext.Value `json:"config,omitzero"`
	Meta               jsontext.Value            `json:"_meta,omitzero"`
	Extra              jsontext.Value            `json:",embed"`
}

// SessionAddedParams announces a session on the root channel.
type SessionAddedParams struct {
	Channel URI            `json:"channel"`
	Summary SessionSummary `json:"summary"`
	Extra   jsontext.Value `json:",embed"`
}

// SessionRemovedParams announces its end.
type SessionRemovedParams struct {
	Channel URI            `json:"channel"`
	Session URI            `json:"session"`
	Extra   jsontext.Value `json:",embed"`
}

// SessionSummaryChangedParams tells what changed in a summary.
type SessionSummaryChangedParams struct {
	Channel URI            `json:"channel"`
	Session URI            `json:"session"`
	Changes SessionChanges `json:"changes"`
	Extra   jsontext.Value `json:",embed"`
}

// ProgressParams reports progress of a long command that gave a token.
type ProgressParams struct {
	Channel       URI            `json:"channel"`
	ProgressToken string         `json:"progressToken"`
	Progress      float64        `json:"progress"`
	Total         *float64       `json:"total,omitzero"`
	Message       *string        `json:"message,omitzero"`
	Extra         jsontext.Value `json:",embed"`
}
