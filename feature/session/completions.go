package session

import (
	"context"
	"strings"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// completion is one suggestion; Range counts UTF-16 units of the text.
type completion struct {
	InsertText string                `json:"insertText"`
	RangeStart int64                 `json:"rangeStart"`
	RangeEnd   int64                 `json:"rangeEnd"`
	Attachment ahp.MessageAttachment `json:"attachment"`
}

type completionList struct {
	Items []completion `json:"items"`
}

// completions suggests the agent's commands for a message that begins with a
// slash (AHP channels, 2.2).
func (f *Feature) completions(_ context.Context, r *host.Request) jsonrpc.Reply {
	var p ahp.CompletionsParams
	if err := r.Decode(&p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	if p.Offset < 0 || p.Offset > utf16Len(p.Text) {
		return jsonrpc.Reply{Err: invalidParams("offset must be between 0 and the length of text")}
	}
	if !f.h.Exists(p.Channel) {
		return jsonrpc.Reply{Err: ahp.ErrNotFound}
	}
	list := completionList{Items: []completion{}}
	if d := f.roster.chat(p.Channel); d != nil {
		list.Items = append(list.Items, suggest(d.known(), p.Text, p.Offset)...)
	}
	return jsonrpc.Reply{Result: list}
}

// known are the commands the agent understands now.
func (d *driver) known() []agent.Command {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.commands
}

// suggest completes the word at the beginning of text, if it is a command and
// the cursor stands in it.
func suggest(commands []agent.Command, text string, offset int64) (items []completion) {
	word, isCommand := strings.CutPrefix(text, "/")
	if end := strings.IndexFunc(word, func(r rune) bool { return r == ' ' || r == '\n' }); end >= 0 {
		word = word[:end]
	}
	length := utf16Len(word) + 1
	if !isCommand || offset > length {
		return nil
	}
	for _, c := range commands {
		if !strings.HasPrefix(c.Name, word) {
			continue
		}
		label := "/" + c.Name
		if c.Description != "" {
			label += " – " + c.Description
		}
		items = append(items, completion{
			InsertText: "/" + c.Name + " ", RangeEnd: length,
			Attachment: ahp.MessageAttachment{Type: ahp.AttachmentSimple, Label: label},
		})
	}
	return items
}
