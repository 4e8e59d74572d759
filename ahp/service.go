package ahp

import "github.com/go-json-experiment/json/jsontext"

// Methods of client services (AHP core, 15.1).
const (
	MethodRegisterService           = "client/registerService"
	MethodUnregisterService         = "client/unregisterService"
	MethodClientServiceNotify       = "clientService/notify"
	MethodClientServiceNotification = "clientService/notification"
	MethodClientServiceRequest      = "clientService/request"
	MethodClientServiceHandle       = "clientService/handleRequest"
)

// MemberClientServices is the member of InitializeResult by which a host offers
// client services; its value is a ClientServicesInfo.
const MemberClientServices = "clientServices"

// ClientServicesInfo says where the catalogue is and what the host accepts.
type ClientServicesInfo struct {
	Channel URI                 `json:"channel"`
	Limits  ClientServiceLimits `json:"limits"`
	Extra   jsontext.Value      `json:",embed"`
}

// ClientServiceLimits are the bounds of a host (AHP core, 15.6). Sizes are bytes
// of JSON text, method names are bytes of UTF-8. Zero means not announced.
type ClientServiceLimits struct {
	MetadataBytes         int64          `json:"metadataBytes"`
	MethodNameLength      int64          `json:"methodNameLength"`
	ParamsBytes           int64          `json:"paramsBytes"`
	ResultBytes           int64          `json:"resultBytes"`
	ServicesPerConnection int64          `json:"servicesPerConnection"`
	RequestsInFlight      int64          `json:"requestsInFlight"`
	DefaultTimeoutMs      int64          `json:"defaultTimeoutMs"`
	MaximumTimeoutMs      int64          `json:"maximumTimeoutMs"`
	Extra                 jsontext.Value `json:",embed"`
}

// ClientService is a service that a connection of a client has registered.
// Metadata describes it and never authorises anything.
type ClientService struct {
	ServiceID string         `json:"serviceId"`
	ClientID  string         `json:"clientId"`
	Metadata  jsontext.Value `json:"metadata,omitzero"` // an object
	Extra     jsontext.Value `json:",embed"`
}

// ClientServicesState is the catalogue as one observer may see it, in the order
// of registration.
type ClientServicesState struct {
	Services []ClientService `json:"services"`
	Extra    jsontext.Value  `json:",embed"`
}

// ClientServiceSet adds a service to the catalogue or replaces it.
type ClientServiceSet struct {
	ActionBase
	Service ClientService `json:"service"`
}

// ClientServiceRemoved removes one.
type ClientServiceRemoved struct {
	ActionBase
	ServiceID string `json:"serviceId"`
}

// RegisterServiceParams registers a service for the connection they come on.
type RegisterServiceParams struct {
	Channel  URI            `json:"channel,omitzero"`
	Metadata jsontext.Value `json:"metadata,omitzero"` // an object
	Meta     jsontext.Value `json:"_meta,omitzero"`
	Extra    jsontext.Value `json:",embed"`
}

// RegisterServiceResult answers a registration.
type RegisterServiceResult struct {
	ServiceID string         `json:"serviceId"`
	Extra     jsontext.Value `json:",embed"`
}

// UnregisterServiceParams takes a registration back.
type UnregisterServiceParams struct {
	Channel   URI            `json:"channel,omitzero"`
	ServiceID string         `json:"serviceId"`
	Meta      jsontext.Value `json:"_meta,omitzero"`
	Extra     jsontext.Value `json:",embed"`
}

// ClientServiceParams is a notification or a call on its way to a service. The
// host fills SenderClientID in; what a sender wrote there is ignored.
type ClientServiceParams struct {
	Channel        URI            `json:"channel,omitzero"`
	ServiceID      string         `json:"serviceId"`
	SenderClientID string         `json:"senderClientId,omitzero"`
	Method         string         `json:"method"`
	Params         jsontext.Value `json:"params,omitzero"`    // absent counts as null
	TimeoutMs      *int64         `json:"timeoutMs,omitzero"` // calls: at least 1
	Meta           jsontext.Value `json:"_meta,omitzero"`
	Extra          jsontext.Value `json:",embed"`
}

// RelayFailure is the member relay in the data of the host's own errors of a
// call. The host removes a member of that name from what services answer.
type RelayFailure struct {
	Reason string `json:"reason"`
	// MayHaveExecuted tells whether the service may have acted on the call.
	MayHaveExecuted bool           `json:"mayHaveExecuted"`
	Extra           jsontext.Value `json:",embed"`
}

// RelayData is the data of such an error (AHP core, 15.4).
type RelayData struct {
	Relay RelayFailure   `json:"relay"`
	Extra jsontext.Value `json:",embed"`
}
