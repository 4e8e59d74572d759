package mcp

import (
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// The functions here change one member of a JSON object and leave every other
// byte of its values as it came: a relay that decoded and encoded would lose what
// it does not know. They read text that jsonrpc.Scan has accepted.

// withMember returns obj with a member set: in its place if it is there, else at
// the end. What is no object becomes one.
func withMember(obj jsontext.Value, name string, value jsontext.Value) jsontext.Value {
	return rebuild(obj, name, value)
}

// withoutMember returns obj without a member.
func withoutMember(obj jsontext.Value, name string) jsontext.Value {
	if _, ok := jsonrpc.Member(obj, name); !ok {
		return obj
	}
	return rebuild(obj, name, nil)
}

// rebuild copies obj with the member name replaced by value, or without it when
// value is nil.
func rebuild(obj jsontext.Value, name string, value jsontext.Value) jsontext.Value {
	out := make(jsontext.Value, 0, len(obj)+len(name)+len(value)+4)
	out = append(out, '{')
	add := func(n []byte, v jsontext.Value) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(out, quote(n)...), ':')
		out = append(out, v...)
	}
	placed := value == nil
	jsonrpc.EachMember(obj, func(n []byte, v jsontext.Value) bool {
		switch {
		case string(n) != name:
			add(n, v)
		case !placed:
			add(n, value)
			placed = true
		}
		return true
	})
	if !placed {
		add([]byte(name), value)
	}
	return append(out, '}')
}

// withMemberAt is withMember at the end of a path of members; those on the way
// are made where they are missing.
func withMemberAt(obj jsontext.Value, value jsontext.Value, path ...string) jsontext.Value {
	if len(path) == 1 {
		return withMember(obj, path[0], value)
	}
	inner, _ := jsonrpc.Member(obj, path[0])
	return withMember(obj, path[0], withMemberAt(inner, value, path[1:]...))
}

// memberAt returns the value at the end of a path of members, nil if it is not there.
func memberAt(obj jsontext.Value, path ...string) jsontext.Value {
	for _, name := range path {
		v, ok := jsonrpc.Member(obj, name)
		if !ok {
			return nil
		}
		obj = v
	}
	return obj
}
