package notify

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaskPolicy says what of a tool's results is hidden before anything is frozen
// or kept (notifications, 10.3). The patterns for credentials apply always.
type MaskPolicy struct {
	Pointers []string // JSON pointers into structuredContent
	DropKind []string // kinds of content that are left out: image, resource, …
}

// maskResult returns a result without what must not leave, and the JSON
// pointers of what was hidden. Something that is no JSON object stays away
// altogether.
func maskResult(result jsontext.Value, p MaskPolicy) (clean jsontext.Value, pointers []string) {
	var v map[string]any
	if err := json.Unmarshal(result, &v, jsontext.AllowInvalidUTF8(true), exactNumbers); err != nil || v == nil {
		return nil, nil
	}
	m := masker{}
	m.content(v, p.DropKind)
	for _, pointer := range p.Pointers {
		m.pointer(v, pointer)
	}
	m.walk(v, "")
	if len(m.hidden) == 0 {
		return result, nil // the bytes as they came: numbers keep their form
	}
	slices.Sort(m.hidden)
	return mustJSON(v), slices.Compact(m.hidden)
}

// exactNumbers keeps numbers as they were written.
var exactNumbers = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported // the ordinary way
	}
	raw, err := dec.ReadValue()
	*v = raw.Clone()
	return err
}))

type masker struct{ hidden []string }

// content leaves out kinds of content.
func (m *masker) content(result map[string]any, drop []string) {
	list, _ := result["content"].([]any)
	for i, item := range list {
		object, _ := item.(map[string]any)
		kind, _ := object["type"].(string)
		if slices.Contains(drop, kind) {
			list[i] = map[string]any{"type": "text", "text": masked}
			m.hidden = append(m.hidden, "/content/"+strconv.Itoa(i))
		}
	}
}

// pointer hides what a JSON pointer into structuredContent names.
func (m *masker) pointer(result map[string]any, pointer string) {
	var at any = result["structuredContent"]
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, token := range tokens {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		last := i == len(tokens)-1
		switch parent := at.(type) {
		case map[string]any:
			if _, ok := parent[token]; !ok {
				return
			}
			if last {
				parent[token] = masked
			}
			at = parent[token]
		case []any:
			n, err := strconv.Atoi(token)
			if err != nil || n < 0 || n >= len(parent) {
				return
			}
			if last {
				parent[n] = masked
			}
			at = parent[n]
		default:
			return
		}
	}
	m.hidden = append(m.hidden, "/structuredContent/"+strings.TrimPrefix(pointer, "/"))
}

// walk applies the patterns to every text, names of members included.
func (m *masker) walk(v any, at string) any {
	switch v := v.(type) {
	case string:
		clean := maskText(v)
		if clean != v {
			m.hidden = append(m.hidden, at)
		}
		return clean
	case []any:
		for i := range v {
			v[i] = m.walk(v[i], at+"/"+strconv.Itoa(i))
		}
	case map[string]any:
		for name, member := range v {
			to := maskText(name)
			if to != name {
				delete(v, name)
				m.hidden = append(m.hidden, at)
			}
			escaped := strings.NewReplacer("~", "~0", "/", "~1").Replace(to)
			v[to] = m.walk(member, at+"/"+escaped)
		}
	}
	return v
}

// credentials are the shapes of secrets that texts carry by accident.
var credentials = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{12,}`),
	regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)`),
	regexp.MustCompile(`\b(AKIA|ASIA)[A-Z0-9]{16}\b`),
	regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{35}`),
	regexp.MustCompile(`\b(ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{22,}`),
	regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{20,}`),
	regexp.MustCompile(`\bxox[abprs]-[A-Za-z0-9-]{10,}`),
	regexp.MustCompile(`\bwhs(ec|k)_[A-Za-z0-9+/=]{16,}`),
	regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`),
	regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@`),
	regexp.MustCompile(`(?i)\b(password|passwd|secret|api[_-]?key|access[_-]?token)["']?\s*[:=]\s*["']?[^\s"',;&]{6,}`),
}

// maskText hides what looks like a credential.
func maskText(text string) string {
	for _, shape := range credentials {
		text = shape.ReplaceAllString(text, masked)
	}
	return text
}

// MaskFunc chooses the policy for a tool's results.
type MaskFunc func(ctx context.Context, server, tool string) MaskPolicy
