package git

import "github.com/causeway-ahp/causeway/ahp"

// Protocol is the member protocol of the service's metadata.
const Protocol = "git-object-reader"

// Methods of the service, and the one notification it sends.
const (
	MethodRepositories = "getRepositories"
	MethodRefs         = "getRefs"
	MethodObjects      = "getObjects"
	MethodObjectRange  = "getObjectRange"
	MethodWatchRefs    = "watchRefs"
	MethodUnwatchRefs  = "unwatchRefs"
	MethodRefsChanged  = "refsChanged"
)

// Metadata is what the service says of itself.
type Metadata struct {
	Protocol string `json:"protocol"`
	Version  int    `json:"version"`
	Label    string `json:"label,omitzero"`
}

// Codes of the service's own errors.
const (
	CodeNoRepository = 1 // the name is unknown, or missing where there are several
	CodeNoObject     = 2 // getObjectRange of an object that is missing or broken
	CodeTooMany      = 3 // more ids or watches than are taken
	CodeNotYours     = 4 // watchRefs of a service that is not the caller's
	CodeGitFailed    = 5 // Git could not do it; the message is Git's
)

// Errors of the service, to match with errors.Is.
var (
	ErrNoRepository = ahp.Errorf(CodeNoRepository, "no such repository")
	ErrNoObject     = ahp.Errorf(CodeNoObject, "no such object")
	ErrTooMany      = ahp.Errorf(CodeTooMany, "too many")
	ErrNotYours     = ahp.Errorf(CodeNotYours, "the service is not the caller's")
	ErrGitFailed    = ahp.Errorf(CodeGitFailed, "git failed")
)

// RepositoryInfo describes a repository.
type RepositoryInfo struct {
	Name         string `json:"name"`
	ObjectFormat string `json:"objectFormat"` // sha1 or sha256
	Bare         bool   `json:"bare"`
}

// Repositories answers getRepositories.
type Repositories struct {
	Repositories []RepositoryInfo `json:"repositories"`
}

// RepoParams are the params of getRepositories, and a part of all others.
type RepoParams struct {
	Repo string `json:"repo,omitzero"`
}

// RefsParams are the params of getRefs. Prefix limits the names, such as
// refs/heads/; After is where an earlier answer ended.
type RefsParams struct {
	RepoParams
	Prefix string `json:"prefix,omitzero"`
	After  string `json:"after,omitzero"`
}

// Head is what HEAD stands for: a ref that may not exist yet, or a commit.
type Head struct {
	Symref string `json:"symref,omitzero"`
	OID    string `json:"oid,omitzero"`
}

// Ref is one ref. Peeled is the object an annotated tag is about.
type Ref struct {
	Name   string `json:"name"`
	OID    string `json:"oid"`
	Peeled string `json:"peeled,omitzero"`
	Symref string `json:"symref,omitzero"`
}

// Refs answers getRefs.
type Refs struct {
	ObjectFormat string `json:"objectFormat"`
	Head         Head   `json:"head"`
	Refs         []Ref  `json:"refs"`
	Next         string `json:"next,omitzero"`
}

// ObjectsParams are the params of getObjects.
type ObjectsParams struct {
	RepoParams
	OIDs     []string `json:"oids"`
	MaxBytes int64    `json:"maxBytes,omitzero"` // less than the service's own bound
}

// Object is one object. Partial means that its data are above the bound.
type Object struct {
	OID     string `json:"oid"`
	Type    string `json:"type"` // commit, tree, blob, tag
	Size    int64  `json:"size"`
	Data    []byte `json:"data,omitzero"`
	Partial bool   `json:"partial,omitzero"`
}

// Broken is an object that Git cannot read.
type Broken struct {
	OID   string `json:"oid"`
	Error string `json:"error"`
}

// Objects answers getObjects. Next is how many of the ids were dealt with, absent
// when all were.
type Objects struct {
	Objects []Object `json:"objects"`
	Missing []string `json:"missing"`
	Broken  []Broken `json:"broken,omitzero"`
	Next    int      `json:"next,omitzero"`
}

// RangeParams are the params of getObjectRange. A length of zero, or one above the
// service's bound, means as much as the bound allows.
type RangeParams struct {
	RepoParams
	OID    string `json:"oid"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length,omitzero"`
}

// ObjectRange answers getObjectRange. No data: the offset is the end.
type ObjectRange struct {
	OID    string `json:"oid"`
	Type   string `json:"type"`
	Size   int64  `json:"size"`
	Offset int64  `json:"offset"`
	Data   []byte `json:"data"`
}

// WatchParams are the params of watchRefs and unwatchRefs.
type WatchParams struct {
	RepoParams
	ServiceID string `json:"serviceId"`
}

// RefChange is one changed ref. Old is absent for a new one, New for one that is
// gone.
type RefChange struct {
	Name string `json:"name"`
	Old  string `json:"old,omitzero"`
	New  string `json:"new,omitzero"`
}

// RefsChanged are the params of the notification refsChanged.
type RefsChanged struct {
	Repo    string      `json:"repo"`
	Changes []RefChange `json:"changes"`
}
