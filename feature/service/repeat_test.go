package service_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/causeway-ahp/causeway/feature/service"
	"github.com/causeway-ahp/causeway/host"
)

// TestRepetitionsAreJudgedEachTime: that a notification is like the one before it
// saves reading it again, and nothing else. Limits, permission and the registry are
// asked each time, and what differs in the least is read as it stands.
func TestRepetitionsAreJudgedEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := service.Limits{ParamsBytes: 100, Depth: 4}
		w := newWorld(t, service.Options{Limits: limits}, host.Options{})
		owner, other, sender := w.join("b"), w.join("c"), w.join("a")
		id, second := owner.register(`{}`), other.register(`{}`)
		steps := []struct {
			msg    string
			before func()
			owner  string // the params that arrive there, "" for none
			other  string
		}{
			{msg: notifyMessage(id, "1"), owner: "1"},
			{msg: notifyMessage(id, "2"), owner: "2"},
			{msg: notifyMessage(id, `"`+strings.Repeat("x", 98)+`"`), owner: strings.Repeat("x", 98)},
			{msg: notifyMessage(id, `"`+strings.Repeat("x", 99)+`"`)},
			{msg: notifyMessage(id, strings.Repeat("[", 4)+strings.Repeat("]", 4)), owner: "[[[[]]]]"},
			{msg: notifyMessage(id, strings.Repeat("[", 5)+strings.Repeat("]", 5))},
			{msg: notifyMessage(second, "3"), other: "3"},
			{msg: notifyMessage(second, "4"), other: "4"},
			{msg: notifyMessage(id, "5"), owner: "5"},
			{msg: strings.Replace(notifyMessage(id, "6"), `"params":6`, `"params":6,"params":7`, 1), owner: "7"},
			{msg: strings.Replace(notifyMessage(id, "8"), `"params":8`, `"params":8,"extra":9`, 1), owner: "8"},
			{msg: strings.Replace(notifyMessage(id, "8"), `"params":8`, `"params":8,"extra":10`, 1), owner: "8"},
			{msg: strings.Replace(notifyMessage(id, "0"), `,"params":0`, ``, 1), owner: "null"},
			{msg: notifyMessage(id, "11 "), owner: "11"},
			{msg: notifyMessage(id, "12"), owner: "12"},
			{before: func() { w.policy.set("notify local local", false) }, msg: notifyMessage(id, "13")},
			{before: func() { w.policy.set("notify local local", true) }, msg: notifyMessage(id, "14"), owner: "14"},
			{before: func() { owner.close(); synctest.Wait() }, msg: notifyMessage(id, "15")},
			{msg: notifyMessage(second, "16"), other: "16"},
		}
		for i, s := range steps {
			if s.before != nil {
				s.before()
			}
			sender.send(s.msg)
			for name, want := range map[*peer]string{owner: s.owner, other: s.other} {
				got := ""
				for _, m := range name.take() {
					got += member(m, "params", "params")
				}
				if got != want {
					t.Errorf("step %d: %s got %q, want %q", i, name.name, got, want)
				}
			}
			if got := sender.take(); len(got) != 0 {
				t.Errorf("step %d: the sender got %q, want silence", i, got)
			}
		}
	})
}

// TestRepetitionsFollowThePolicy: permission that is taken away or given between two
// notifications that are alike holds for the second.
func TestRepetitionsFollowThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, service.Options{}, host.Options{})
		owner, sender := w.join("beth-1"), w.join("ann-1")
		id := owner.register(`{}`)
		w.policy.set("see ann beth", true)
		for i, allowed := range []bool{false, true, true, false, false, true} {
			w.policy.set("notify ann beth", allowed)
			sender.send(notifyMessage(id, fmt.Sprint(i)))
			got := owner.take()
			if allowed != (len(got) == 1) {
				t.Errorf("notification %d, allowed %v: %q", i, allowed, got)
			}
			if allowed && member(got[0], "params", "senderClientId") != "ann-1" {
				t.Errorf("stamped with another sender: %s", got[0])
			}
		}
	})
}
