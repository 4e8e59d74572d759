package policy

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/causeway-ahp/causeway/feature/tcp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/goccy/go-yaml"
)

// Access is what a principal may do with the sessions, chats and other shared
// channels of the host.
type Access string

// The kinds of access. An absent one is AccessAll.
const (
	AccessAll  Access = "all"
	AccessRead Access = "read" // see, not change, create or end
	AccessNone Access = "none" // not even see
)

// document is the form of the file.
type document struct {
	Principals map[string]*entry `yaml:"principals"`
	Default    *entry            `yaml:"default"`
}

type entry struct {
	Sessions Access    `yaml:"sessions"`
	Register *bool     `yaml:"register"`
	See      []grant   `yaml:"see"`
	Notify   []grant   `yaml:"notify"`
	Call     []grant   `yaml:"call"`
	Forward  *[]string `yaml:"forward"`
}

// grant names whose services are meant: one principal or, as "*", everybody. It
// is a bare name, or a mapping that narrows it down to some metadata.
type grant struct {
	Owner string         `yaml:"owner"`
	Where map[string]any `yaml:"where"`
}

// UnmarshalYAML reads both forms.
func (g *grant) UnmarshalYAML(unmarshal func(any) error) error {
	if unmarshal(&g.Owner) == nil {
		return nil
	}
	type mapping grant // without this method
	return unmarshal((*mapping)(g))
}

// Parse reads a policy.
func Parse(data []byte) (*Rules, error) {
	var d document
	err := yaml.UnmarshalWithOptions(data, &d, yaml.Strict())
	if err != nil && !errors.Is(err, io.EOF) { // an empty file is a policy, too
		return nil, fmt.Errorf("not a policy: %s", yaml.FormatError(err, false, true))
	}
	r := &Rules{principals: make(map[host.Principal]*rule)}
	for _, name := range slices.Sorted(maps.Keys(d.Principals)) {
		one, err := d.Principals[name].compile()
		if err != nil {
			return nil, fmt.Errorf("principal %q: %w", name, err)
		}
		r.principals[host.Principal(name)] = one
	}
	if r.others, err = d.Default.compile(); err != nil {
		return nil, fmt.Errorf("default: %w", err)
	}
	return r, nil
}

// compile checks an entry and brings it into the form that is asked. A nil one,
// of a principal that is named and nothing more, is that of the default rules.
func (e *entry) compile() (*rule, error) {
	if e == nil {
		return &rule{sessions: AccessAll, register: true}, nil
	}
	r := &rule{sessions: e.Sessions, register: e.Register == nil || *e.Register}
	switch e.Sessions {
	case "":
		r.sessions = AccessAll
	case AccessAll, AccessRead, AccessNone:
	default:
		return nil, fmt.Errorf("sessions: %q is none of all, read, none", e.Sessions)
	}
	for _, list := range []struct {
		name string
		from []grant
		to   *[]match
	}{{"see", e.See, &r.see}, {"notify", e.Notify, &r.notify}, {"call", e.Call, &r.call}} {
		var err error
		if *list.to, err = compileGrants(list.from); err != nil {
			return nil, fmt.Errorf("%s: %w", list.name, err)
		}
	}
	if err := r.visible(); err != nil {
		return nil, err
	}
	return r, r.compileForward(e.Forward)
}

// visible refuses a rule that allows what it keeps out of sight: who cannot see a
// service cannot use it, and the author of the file would wonder why.
func (r *rule) visible() error {
	for _, use := range []struct {
		name string
		list []match
	}{{"notify", r.notify}, {"call", r.call}} {
		for _, m := range use.list {
			if !slices.ContainsFunc(r.see, func(s match) bool { return s.owner == "*" || s.owner == m.owner }) {
				return fmt.Errorf("%s names %q, whose services it may not see: add %q to see", use.name, m.owner, m.owner)
			}
		}
	}
	return nil
}

func (r *rule) compileForward(list *[]string) error {
	if list == nil {
		return nil
	}
	r.forward = make(tcp.Rules, 0, len(*list))
	for _, text := range *list {
		one, err := tcp.ParseRule(text)
		if err != nil {
			return fmt.Errorf("forward: %w", err)
		}
		r.forward = append(r.forward, one)
	}
	return nil
}
