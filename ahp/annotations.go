package ahp

import "github.com/go-json-experiment/json/jsontext"

// AnnotationOrigin anchors an annotation.
type AnnotationOrigin struct {
	Session URI            `json:"session"`
	Chat    *URI           `json:"chat,omitzero"`
	TurnID  *string        `json:"turnId,omitzero"`
	Extra   jsontext.Value `json:",embed"`
}

// Annotation is a remark on a resource.
type Annotation struct {
	ID       string            `json:"id"`
	Origin   *AnnotationOrigin `json:"origin,omitzero"`
	TurnID   *string           `json:"turnId,omitzero"` // the anchor before 0.9
	Resource URI               `json:"resource"`
	Range    *TextRange        `json:"range,omitzero"`
	Resolved bool              `json:"resolved"`
	Entries  []AnnotationEntry `json:"entries"`
	Meta     jsontext.Value    `json:"_meta,omitzero"`
	Extra    jsontext.Value    `json:",embed"`
}

// AnnotationEntry is one text of an annotation.
type AnnotationEntry struct {
	ID    string           `json:"id"`
	Text  StringOrMarkdown `json:"text"`
	Meta  jsontext.Value   `json:"_meta,omitzero"`
	Extra jsontext.Value   `json:",embed"`
}

// AnnotationsState is the state of an annotations channel.
type AnnotationsState struct {
	Annotations []Annotation   `json:"annotations"`
	Extra       jsontext.Value `json:",embed"`
}

// AnnotationsSet adds or replaces an annotation.
type AnnotationsSet struct {
	ActionBase
	Annotation Annotation `json:"annotation"`
}

// AnnotationsUpdated writes the members that are present.
type AnnotationsUpdated struct {
	ActionBase
	AnnotationID string            `json:"annotationId"`
	Origin       *AnnotationOrigin `json:"origin,omitzero"`
	TurnID       *string           `json:"turnId,omitzero"`
	Resource     *URI              `json:"resource,omitzero"`
	Range        *TextRange        `json:"range,omitzero"`
	Resolved     *bool             `json:"resolved,omitzero"`
}

// AnnotationsRemoved removes an annotation.
type AnnotationsRemoved struct {
	ActionBase
	AnnotationID string `json:"annotationId"`
}

// AnnotationsEntrySet adds or replaces an entry.
type AnnotationsEntrySet struct {
	ActionBase
	AnnotationID string          `json:"annotationId"`
	Entry        AnnotationEntry `json:"entry"`
}

// AnnotationsEntryRemoved removes one.
type AnnotationsEntryRemoved struct {
	ActionBase
	AnnotationID string `json:"annotationId"`
	EntryID      string `json:"entryId"`
}
