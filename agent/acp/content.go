package acp

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

func leftOut(n int) string { return fmt.Sprintf("[%d bytes left out]\n", n) }

// toolName is the machine's name of a call's tool.
func (c *call) toolName() string {
	switch {
	case c.name != "":
		return oneLine(c.name)
	case c.kind != "":
		return oneLine(c.kind)
	}
	return "tool"
}

// label is the call's name for people. Agents quote code in titles as markdown;
// these are plain text.
func (c *call) label() string {
	switch {
	case c.title != "":
		return oneLine(strings.ReplaceAll(c.title, "`", ""))
	case c.kind != "":
		return oneLine(c.kind)
	}
	return "Tool"
}

// meta is what the protocol has no place for.
func (c *call) meta() jsontext.Value {
	var m jsontext.Value
	if c.kind != "" {
		kind, _ := jsontext.AppendQuote(nil, c.kind)
		m = object("kind", kind)
	}
	if len(c.locations) > 0 && len(c.locations) <= maxLabelBytes*16 {
		l := object("locations", c.locations)
		if m != nil {
			l = append(append(m[:len(m)-1], ','), l[1:]...)
		}
		m = l
	}
	if m == nil {
		return nil
	}
	return object("acp", m)
}

// toolInput shows the input of a call: a text as it is, a command by its text
// when there is nothing else to it, anything else as JSON.
func toolInput(raw jsontext.Value) *ahp.ToolInput {
	switch {
	case len(raw) == 0 || raw.Kind() == jsontext.KindNull || string(raw) == "{}":
		return nil
	case raw.Kind() == jsontext.KindString:
		text, _ := jsonrpc.StringValue(raw)
		return ahp.InlineInput(beginning(text, maxInputBytes))
	}
	if text, ok := onlyCommand(raw); ok {
		return ahp.InlineInput(beginning(text, maxInputBytes))
	}
	return ahp.InlineInput(beginning(strings.ToValidUTF8(string(raw), "\ufffd"), maxInputBytes))
}

// onlyCommand is the text of an input that is a command and perhaps a
// description of it. With any other member the whole input is shown: consent is
// given to all of it.
func onlyCommand(raw jsontext.Value) (text string, ok bool) {
	only := true
	jsonrpc.EachMember(raw, func(name []byte, value jsontext.Value) bool {
		switch string(name) {
		case "command":
			text, ok = jsonrpc.StringValue(value)
		case "description":
		default:
			only = false
		}
		return only
	})
	return text, ok && only
}

// contents is the content of a call for clients.
func (s *session) contents(list []toolContent) []ahp.ToolResultContent {
	out := make([]ahp.ToolResultContent, 0, len(list))
	for i := range list {
		if c, ok := s.content(&list[i]); ok {
			out = append(out, c)
		}
	}
	return out
}

func (s *session) content(c *toolContent) (ahp.ToolResultContent, bool) {
	switch {
	case c.Type == contentBlockType && c.Content != nil:
		return s.blockContent(c.Content)
	case c.Type == contentDiff:
		return diffContent(c), true
	case c.Type == contentTerminal:
		return s.terminals.content(c.TerminalID)
	}
	s.stats.unknown.Add(1)
	return ahp.ToolResultContent{}, false
}

// blockContent is a content block inside a tool call.
func (s *session) blockContent(b *contentBlock) (ahp.ToolResultContent, bool) {
	switch {
	case b.Type == blockText:
		return ahp.TextContent(ending(b.Text, maxShownBytes)), true
	case b.Type == blockImage || b.Type == blockAudio:
		return binaryContent(b.Data, b.MIMEType), true
	case b.Type == blockResourceLink:
		return ahp.ToolResultContent{
			Type: ahp.ContentResource, URI: &b.URI, ContentType: textOrNil(b.MIMEType), SizeHint: b.Size,
		}, true
	case b.Type == blockResource && b.Resource != nil && b.Resource.Text != nil:
		return ahp.TextContent(ending(*b.Resource.Text, maxShownBytes)), true
	case b.Type == blockResource && b.Resource != nil && b.Resource.Blob != nil:
		return binaryContent(*b.Resource.Blob, b.Resource.MIMEType), true
	}
	s.stats.unknown.Add(1)
	return ahp.ToolResultContent{}, false
}

func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// binaryContent is data inside the state, up to a size.
func binaryContent(data, mimeType string) ahp.ToolResultContent {
	if len(data) > maxInlineBytes {
		return ahp.TextContent(fmt.Sprintf("[%s of about %d bytes left out]\n", mimeType, base64.StdEncoding.DecodedLen(len(data))))
	}
	return ahp.ToolResultContent{Type: ahp.ContentEmbeddedResource, Data: &data, ContentType: &mimeType}
}

// addOutput puts the raw output of a call into its result: an object as
// structured content, anything else as text if there is no content.
func addOutput(r *ahp.ToolCallResult, raw jsontext.Value) {
	switch {
	case len(raw) == 0 || raw.Kind() == jsontext.KindNull:
	case raw.Kind() == jsontext.KindBeginObject && len(raw) <= maxStructBytes:
		r.StructuredContent = raw
	case len(r.Content) > 0:
	case raw.Kind() == jsontext.KindString:
		text, _ := jsonrpc.StringValue(raw)
		r.Content = []ahp.ToolResultContent{ahp.TextContent(ending(text, maxShownBytes))}
	default:
		r.Content = []ahp.ToolResultContent{ahp.TextContent(ending(strings.ToValidUTF8(string(raw), "\ufffd"), maxShownBytes))}
	}
}

// failureText is what is said of a failed call: the first line it left.
func failureText(content []ahp.ToolResultContent) string {
	for _, c := range content {
		if c.Text == nil {
			continue
		}
		for line := range strings.Lines(*c.Text) {
			if line = strings.Trim(strings.TrimSpace(line), "`"); line != "" {
				return oneLine(line)
			}
		}
	}
	return "the tool failed"
}

// answerContent relays a block of the answer that is not text.
func (t *turn) answerContent(b *contentBlock) {
	t.said = false
	switch {
	case b.Type == blockResourceLink:
		name := b.Title
		if name == "" {
			name = b.Name
		}
		t.say(t.messageID, "["+oneLine(name)+"]("+b.URI+")", false)
	case b.Type == blockResource && b.Resource != nil && b.Resource.Text != nil:
		t.say(t.messageID, fenced(*b.Resource.Text), false)
	case b.Type == blockImage || b.Type == blockAudio:
		t.inline(b.Data, b.MIMEType)
	case b.Type == blockResource && b.Resource != nil && b.Resource.Blob != nil:
		t.inline(*b.Resource.Blob, b.Resource.MIMEType)
	default:
		t.s.stats.unknown.Add(1)
	}
}

// inline puts data into the transcript, or says that it was too large.
func (t *turn) inline(data, mimeType string) {
	size := base64.StdEncoding.DecodedLen(len(data))
	if len(data) > maxInlineBytes {
		t.emit(agent.Notice{TurnID: t.id, Text: ahp.Plain(fmt.Sprintf("The agent sent %s of about %d bytes, which is too large to show.", mimeType, size))})
		return
	}
	ref := ahp.ContentRef{}
	ref.URI, ref.ContentType, ref.SizeHint = dataURI(mimeType, data), &mimeType, new(float64(size))
	t.emit(agent.Content{TurnID: t.id, Ref: ref})
}

// dataURI holds content itself, so that no store is needed for it.
func dataURI(mimeType, base64Data string) ahp.URI {
	return "data:" + url.PathEscape(mimeType) + ";base64," + base64Data
}

// fenced is text as a code block, whatever it holds.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return "\n" + fence + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence + "\n"
}
