package wiretrace

// row is one line of a comparison: a message that was wanted, one that was
// received, or both.
type row struct {
	want *line  // nil if unexpected
	got  []byte // nil if missing
	err  error  // how they differ, nil if they do not
}

func (r row) same() bool { return r.want != nil && r.got != nil && r.err == nil }

// align puts wanted and received messages side by side, in order, and binds
// placeholders on the way. Where two differ it looks ahead for a partner, so
// that one message too many is reported as that, and not as a difference in
// every message behind it.
func (b *bindings) align(want []line, got [][]byte) []row {
	var rows []row
	for len(want) > 0 || len(got) > 0 {
		r := b.nextRow(want, got)
		if r.want != nil {
			want = want[1:]
		}
		if r.got != nil {
			got = got[1:]
		}
		rows = append(rows, r)
	}
	return rows
}

func (b *bindings) nextRow(want []line, got [][]byte) row {
	switch {
	case len(want) == 0:
		return row{got: got[0]}
	case len(got) == 0:
		return row{want: &want[0]}
	}
	err := b.matchText(want[0], got[0])
	if err == nil {
		return row{want: &want[0], got: got[0]}
	}
	for _, later := range got[1:] {
		if b.clonePtr().matchText(want[0], later) == nil {
			return row{got: got[0]}
		}
	}
	for _, later := range want[1:] {
		if b.clonePtr().matchText(later, got[0]) == nil {
			return row{want: &want[0]}
		}
	}
	return row{want: &want[0], got: got[0], err: err}
}

func (b *bindings) clonePtr() *bindings {
	c := b.clone()
	return &c
}

func (b *bindings) matchText(want line, got []byte) error {
	v, err := parseValue(got)
	if err != nil {
		return err
	}
	return b.match(want.value, v)
}
