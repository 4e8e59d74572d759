package compat

import (
	"bytes"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// rule rewrites one encoded value. It returns the value itself when nothing
// changes, and nil to leave it out.
type rule func(v jsontext.Value) jsontext.Value

// object is an encoded object that is being rewritten. What is not touched is
// copied as it came, in its order.
type object struct {
	raw     jsontext.Value
	members []member // read when first needed
	read    bool
	changed bool
}

type member struct {
	name  string
	value jsontext.Value
}

// rewrite applies edit to an object. Anything else is returned as it is.
func rewrite(v jsontext.Value, edit func(o *object)) jsontext.Value {
	if v.Kind() != jsontext.KindBeginObject {
		return v
	}
	o := &object{raw: v}
	edit(o)
	return o.encode()
}

func (o *object) open() {
	if o.read {
		return
	}
	o.read = true
	jsonrpc.EachMember(o.raw, func(name []byte, v jsontext.Value) bool {
		o.members = append(o.members, member{string(name), v})
		return true
	})
}

// get returns the value of a member, nil without one.
func (o *object) get(name string) jsontext.Value {
	o.open()
	for i := range o.members {
		if o.members[i].name == name {
			return o.members[i].value
		}
	}
	return nil
}

// text returns a member that is a string.
func (o *object) text(name string) string {
	s, _ := jsonrpc.StringValue(o.get(name))
	return s
}

// set writes a member, at its place or at the end; nil removes it.
func (o *object) set(name string, v jsontext.Value) {
	o.open()
	for i := range o.members {
		if o.members[i].name != name {
			continue
		}
		o.changed = true
		if v == nil {
			o.members = append(o.members[:i], o.members[i+1:]...)
		} else {
			o.members[i].value = v
		}
		return
	}
	if v != nil {
		o.changed = true
		o.members = append(o.members, member{name, v})
	}
}

// take removes a member and returns its value.
func (o *object) take(name string) jsontext.Value {
	v := o.get(name)
	o.set(name, nil)
	return v
}

// apply rewrites members by a rule.
func (o *object) apply(r rule, names ...string) {
	for _, name := range names {
		old := o.get(name)
		if old == nil {
			continue
		}
		if v := r(old); !same(v, old) {
			o.set(name, v)
		}
	}
}

func (o *object) encode() jsontext.Value {
	if !o.changed {
		return o.raw
	}
	out := append(make([]byte, 0, len(o.raw)+32), '{')
	for i, m := range o.members {
		if i > 0 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, m.name) // what is not UTF-8 becomes U+FFFD
		out = append(append(out, ':'), m.value...)
	}
	return append(out, '}')
}

// each applies a rule to the entries of a list.
func each(r rule) rule {
	return func(v jsontext.Value) jsontext.Value {
		if v.Kind() != jsontext.KindBeginArray {
			return v
		}
		return rewriteList(v, func(entry jsontext.Value) []jsontext.Value {
			if entry = r(entry); entry == nil {
				return nil
			}
			return []jsontext.Value{entry}
		})
	}
}

// rewriteList replaces every entry of a list by those that r gives for it.
func rewriteList(v jsontext.Value, r func(jsontext.Value) []jsontext.Value) jsontext.Value {
	out, changed := []byte{'['}, false
	for entry := range entries(v) {
		now := r(entry)
		changed = changed || len(now) != 1 || !same(now[0], entry)
		for _, e := range now {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, e...)
		}
	}
	if !changed {
		return v
	}
	return append(out, ']')
}

// entries yields the values of an encoded list.
func entries(list jsontext.Value) func(yield func(jsontext.Value) bool) {
	return func(yield func(jsontext.Value) bool) {
		dec := jsontext.NewDecoder(bytes.NewReader(list), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
		if _, err := dec.ReadToken(); err != nil {
			return
		}
		for dec.PeekKind() != jsontext.KindEndArray {
			v, err := dec.ReadValue()
			if err != nil || !yield(v.Clone()) {
				return
			}
		}
	}
}

// same reports whether a rule returned the value it was given.
func same(a, b jsontext.Value) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func quote(s string) jsontext.Value {
	v, _ := jsontext.AppendQuote(nil, s)
	return v
}
