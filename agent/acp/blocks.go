package acp

import (
	"encoding/base64"
	"path"
	"strings"

	"github.com/causeway-ahp/causeway/ahp"
)

// blocks is a message as a prompt: its text, then what is attached, as far as the
// agent takes it (agents.md, 4.2).
func (s *session) blocks(m *ahp.Message) []contentBlock {
	if m == nil {
		return []contentBlock{{Type: blockText}}
	}
	blocks := []contentBlock{{Type: blockText, Text: m.Text}}
	for i := range m.Attachments {
		if b, ok := s.attachment(&m.Attachments[i]); ok {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

func (s *session) attachment(a *ahp.MessageAttachment) (contentBlock, bool) {
	switch {
	case a.Type == ahp.AttachmentResource && a.URI != nil:
		return linkBlock(a), true
	case a.Type == ahp.AttachmentEmbeddedResource && a.Data != nil:
		return s.embedded(a), true
	case a.Type == ahp.AttachmentSimple && a.ModelRepresentation != nil:
		return contentBlock{Type: blockText, Text: *a.ModelRepresentation}, true
	case a.Resource != nil: // annotations, another chat: by name
		return contentBlock{Type: blockText, Text: a.Label + " (" + *a.Resource + ")"}, true
	}
	return contentBlock{Type: blockText, Text: a.Label}, a.Label != ""
}

func linkBlock(a *ahp.MessageAttachment) contentBlock {
	b := contentBlock{Type: blockResourceLink, URI: *a.URI, Name: a.Label, Size: a.SizeHint}
	if b.Name == "" {
		b.Name = path.Base(*a.URI)
	}
	if a.ContentType != nil {
		b.MIMEType = *a.ContentType
	}
	return b
}

// embedded hands over attached data in the richest form the agent takes.
func (s *session) embedded(a *ahp.MessageAttachment) contentBlock {
	kind := ""
	if a.ContentType != nil {
		kind = *a.ContentType
	}
	takes := s.init.AgentCapabilities.PromptCapabilities
	uri := "attachment:" + a.Label
	switch {
	case strings.HasPrefix(kind, "image/") && takes.Image:
		return contentBlock{Type: blockImage, Data: *a.Data, MIMEType: kind}
	case strings.HasPrefix(kind, "audio/") && takes.Audio:
		return contentBlock{Type: blockAudio, Data: *a.Data, MIMEType: kind}
	case isText(kind):
		raw, err := base64.StdEncoding.DecodeString(*a.Data)
		if err != nil {
			break
		}
		text := strings.ToValidUTF8(string(raw), "\ufffd")
		if takes.EmbeddedContext {
			return contentBlock{Type: blockResource, Resource: &embeddedResource{URI: uri, MIMEType: kind, Text: &text}}
		}
		return contentBlock{Type: blockText, Text: a.Label + ":" + fenced(text)}
	case takes.EmbeddedContext:
		return contentBlock{Type: blockResource, Resource: &embeddedResource{URI: uri, MIMEType: kind, Blob: a.Data}}
	}
	return contentBlock{Type: blockText, Text: "[attachment " + a.Label + " (" + kind + ") could not be handed over]"}
}

func isText(mimeType string) bool {
	return strings.HasPrefix(mimeType, "text/") || strings.HasPrefix(mimeType, "application/json") || mimeType == ""
}
