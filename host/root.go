package host

import (
	"context"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/reducer"
)

// registerRoot declares what the host serves itself: the root channel, the
// session list and the paging of turns.
func (h *Host) registerRoot(r *Registry) error {
	err := r.Scheme(Scheme{
		Kind: ahp.KindRoot, Class: Shared, Durable: true, Reduce: reducer.Apply, Validate: validateRoot,
		HasEffect: func(ahp.Action) bool { return false },
	})
	if err != nil {
		return err
	}
	if err := r.Request(ahp.MethodListSessions, h.listSessions); err != nil {
		return err
	}
	return r.Request(ahp.MethodFetchTurns, h.fetchTurns)
}

// validateRoot decides about root/configChanged, the only root action a client
// may dispatch.
func validateRoot(state any, _ ahp.Action, _ Actor) string {
	if state.(*ahp.RootState).Config == nil {
		return "the host has no configuration"
	}
	return ""
}

// SetAgents replaces the agents of the root state.
func (h *Host) SetAgents(agents []ahp.AgentInfo) {
	h.Apply(ahp.RootURI, &ahp.RootAgentsChanged{Agents: agents})
}

// listSessions returns a page of sessions, most recently modified first. The
// cursor names the last session of the page before by its time and URI, so that
// a page is right whatever came and went in between (AHP core, 9).
func (h *Host) listSessions(_ context.Context, r *Request) jsonrpc.Reply {
	var p ahp.ListSessionsParams
	if err := r.Decode(&p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	if r.Channel != ahp.RootURI {
		return jsonrpc.Reply{Err: jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "listSessions belongs to channel %s", ahp.RootURI)}
	}
	limit := h.limits.PageSize
	if p.Limit != nil {
		if *p.Limit < 1 {
			return jsonrpc.Reply{Err: jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "limit must be at least 1")}
		}
		limit = int(min(*p.Limit, int64(limit)))
	}
	list := h.visibleSessions(r.Conn.principal)
	if p.Cursor != nil {
		value, ok := h.cursors.open(ahp.RootURI, *p.Cursor)
		if !ok {
			return jsonrpc.Reply{Err: jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "unknown cursor")}
		}
		list = after(list, value)
	}
	result := ahp.ListSessionsResult{Items: make([]ahp.SessionSummary, 0, min(limit, len(list)))}
	for i, s := range list {
		if i == limit {
			if limit == h.limits.PageSize {
				h.LimitReached(limitPage)
			}
			last := &result.Items[i-1]
			cursor := h.cursors.seal(ahp.RootURI, sessionKey(last))
			result.NextCursor = &cursor
			break
		}
		result.Items = append(result.Items, *s)
	}
	return jsonrpc.Reply{Result: result}
}

// visibleSessions returns the sessions a principal may see, in list order.
func (h *Host) visibleSessions(p Principal) []*ahp.SessionSummary {
	h.seq.mu.Lock()
	list := make([]*ahp.SessionSummary, 0, len(h.seq.sessions))
	for ch := range h.seq.sessions {
		list = append(list, ch.session.summary)
	}
	h.seq.mu.Unlock()
	list = slices.DeleteFunc(list, func(s *ahp.SessionSummary) bool { return !h.policy.Allow(p, OpSee, s.Resource) })
	sort.Slice(list, func(i, j int) bool { return before(list[i], list[j]) })
	return list
}

func before(a, b *ahp.SessionSummary) bool {
	if a.ModifiedAt != b.ModifiedAt {
		return a.ModifiedAt > b.ModifiedAt
	}
	return a.Resource < b.Resource
}

// sessionKey is a session's place in the list.
func sessionKey(s *ahp.SessionSummary) string {
	return strconv.Itoa(len(s.ModifiedAt)) + " " + s.ModifiedAt + s.Resource
}

// after returns the part of the list behind the place key.
func after(list []*ahp.SessionSummary, key string) []*ahp.SessionSummary {
	size, rest, _ := strings.Cut(key, " ")
	n, err := strconv.Atoi(size)
	if err != nil || n > len(rest) {
		return nil
	}
	mark := &ahp.SessionSummary{ModifiedAt: rest[:n], Resource: rest[n:]}
	i := sort.Search(len(list), func(i int) bool { return before(mark, list[i]) })
	return list[i:]
}

// roughSize is about how large a state is when encoded, in bytes. It is cheap
// and grows with what streams.
func roughSize(state any) int {
	const base = 512
	chat, ok := state.(*ahp.ChatState)
	if !ok {
		return 4 * base
	}
	size := base
	if chat.ActiveTurn != nil {
		size += partsSize(chat.ActiveTurn.ResponseParts)
	}
	for _, t := range chat.Turns.All() {
		size += base + partsSize(t.ResponseParts)
	}
	return size
}

func partsSize(parts ahp.List[ahp.ResponsePart]) (size int) {
	for _, p := range parts.All() {
		size += 64
		switch p := p.Part.(type) {
		case *ahp.MarkdownPart:
			size += p.Content.Len()
		case *ahp.ReasoningPart:
			size += p.Content.Len()
		case *ahp.ToolCallPart:
			for _, c := range p.ToolCall.Content {
				if c.Text != nil {
					size += len(*c.Text)
				}
			}
		}
	}
	return size
}
