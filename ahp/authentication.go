package ahp

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// AuthenticateParams push a bearer token for a resource the host has advertised (AHP
// core, 11). Whoever holds them holds a secret.
type AuthenticateParams struct {
	Channel  URI    `json:"channel"` // ahp-root://
	Resource string `json:"resource"`
	Token    string `json:"token"` // empty: what was pushed before is revoked
	// ExpiresIn counts the seconds the token is still good for, at least 1.
	ExpiresIn *int64         `json:"expiresIn,omitzero"`
	Scopes    []string       `json:"scopes,omitzero"`
	Meta      jsontext.Value `json:"_meta,omitzero"`
	Extra     jsontext.Value `json:",embed"`
}

// Reasons of an AuthRequiredParams.
const (
	AuthReasonRequired = "required"
	AuthReasonExpired  = "expired" // the token that was used must not be pushed again
)

// AuthRequiredParams ask a client for a token.
type AuthRequiredParams struct {
	Channel  URI            `json:"channel"`
	Resource AuthResource   `json:"resource"`
	Reason   string         `json:"reason,omitzero"` // empty: required
	Extra    jsontext.Value `json:",embed"`
}

// AuthResource is the metadata of a resource. A bare name, as hosts before 0.8 send it,
// is read as metadata with no more than that (AHP core, 18).
type AuthResource ProtectedResourceMetadata

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (r *AuthResource) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*r = AuthResource{}
	if dec.PeekKind() == '"' {
		return json.UnmarshalDecode(dec, &r.Resource)
	}
	return json.UnmarshalDecode(dec, (*ProtectedResourceMetadata)(r))
}

// AuthRequiredData is the data of an error ErrAuthRequired.
type AuthRequiredData struct {
	Resources []ProtectedResourceMetadata `json:"resources"`
	Extra     jsontext.Value              `json:",embed"`
}

// RequiredResources are those that an error of a host wants tokens for, nil for an error
// of another kind. It reads a bare list as well, which hosts once sent.
func RequiredResources(err error) []ProtectedResourceMetadata {
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeAuthRequired {
		return nil
	}
	var data AuthRequiredData
	if Unmarshal(e.Data, &data) == nil {
		return data.Resources
	}
	var list []ProtectedResourceMetadata
	if Unmarshal(e.Data, &list) != nil {
		return nil
	}
	return list
}
