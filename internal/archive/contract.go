package archive

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/journal"
	"github.com/go-json-experiment/json/jsontext"
)

// Block is how many numbers a store under test reserves at a time.
const Block = 100

// World opens one store again and again.
type World interface {
	// Open opens the store for the next process, after Close of the one before or,
	// as after a crash, without.
	Open(t *testing.T) journal.Archive
}

// Contract checks a kind of store.
func Contract(t *testing.T, newWorld func(t *testing.T) World) {
	for _, c := range []struct {
		name  string
		check func(t *testing.T, w World)
	}{
		{"EmptyAtFirst", emptyAtFirst},
		{"WhatWasWrittenIsThere", whatWasWritten},
		{"NumbersAreNotUsedTwice", numbers},
		{"AnOrderlyEndSkipsNothing", orderly},
		{"ImagesReplaceActions", images},
		{"ItemsAreKeptAndCut", items},
		{"AnEndedChannelStaysEnded", ended},
		{"AReusedURIIsAnotherChannel", reused},
		{"FleetingChannelsLeaveNothing", fleeting},
		{"ClientsAndTheirMarks", clients},
		{"Notes", notes},
		{"TrimKeepsWhatIsNeeded", trim},
		{"TheRingIsCompleteAboveOldest", ring},
		{"UnknownIsNotEmpty", unknown},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, newWorld(t)) })
	}
}

// past opens the store and recovers.
func past(t *testing.T, w World) (journal.Archive, *journal.Recovery) {
	t.Helper()
	a := w.Open(t)
	r, err := a.Recover(1000, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return a, r
}

func write(t *testing.T, a journal.Archive, group ...*journal.Record) {
	t.Helper()
	if err := a.Write(group); err != nil {
		t.Fatal(err)
	}
}

func created(seq uint64, channel, parent string) *journal.Record {
	return &journal.Record{
		Seq: seq, Kind: journal.Created, Channel: channel, Body: jsontext.Value(`{"first":"` + channel + `"}`),
		Birth: &journal.Birth{Parent: parent, CreatedAt: "2026-01-01T00:00:00.000Z"},
	}
}

func action(seq uint64, channel string) *journal.Record {
	return &journal.Record{Seq: seq, Kind: journal.Action, Channel: channel, Body: jsontext.Value(fmt.Sprintf(`{"n":%d}`, seq))}
}

func seqs(list []*journal.Record) (all []uint64) {
	for _, r := range list {
		all = append(all, r.Seq)
	}
	return all
}

func load(t *testing.T, a journal.Archive, channel string) (*journal.Image, []*journal.Record) {
	t.Helper()
	img, tail, err := a.Load(channel)
	if err != nil {
		t.Fatal(err)
	}
	return img, tail
}

// line puts values next to each other, with a space between any two.
func line(values ...any) string { return strings.TrimSuffix(fmt.Sprintln(values...), "\n") }

func want[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func emptyAtFirst(t *testing.T, w World) {
	_, r := past(t, w)
	want(t, "recovery", *r, journal.Recovery{})
}

func whatWasWritten(t *testing.T, w World) {
	a, _ := past(t, w)
	from := action(2, "s")
	from.Origin = journal.Origin{ClientID: "c", ClientSeq: 7, Lineage: 3}
	from.Open = true
	write(t, a, created(0, "s", ""), action(1, "s"), from)
	write(t, a, created(2, "c1", "s"), action(3, "c1"))
	a, r := past(t, w)
	want(t, "channels", len(r.Channels), 2)
	s, c := r.Channels[0], r.Channels[1]
	want(t, "session", line(s.Channel, s.Parent, s.Born, s.Seq, s.Last, s.Open, s.Ahead(), s.CreatedAt), "s  0 0 2 true true 2026-01-01T00:00:00.000Z")
	want(t, "chat", line(c.Channel, c.Parent, c.Born, c.Last, c.Open), "c1 s 2 3 false")
	want(t, "newest", seqs(r.Newest), []uint64{1, 2, 3})
	img, tail := load(t, a, "s")
	want(t, "image", line(img.Seq, string(img.Head), len(img.Items), img.Open), `0 {"first":"s"} 0 true`)
	want(t, "tail", line(len(tail), tail[1].Seq, tail[1].Kind, tail[1].Channel, string(tail[1].Body), tail[1].Origin),
		line(2, 2, journal.Action, "s", string(from.Body), from.Origin))
}

func numbers(t *testing.T, w World) {
	a, _ := past(t, w)
	write(t, a, created(0, "s", ""), action(1, "s"), &journal.Record{Seq: 5, Kind: journal.Mark})
	for range 3 { // each a crash
		_, r := past(t, w)
		last := r.Lost[len(r.Lost)-1]
		if r.Seq <= 5 || r.Seq != last.Last+1 || last.Contains(r.Seq) || last.Contains(5) || !last.Contains(r.Seq-1) {
			t.Fatalf("goes on from %d, lost %v", r.Seq, r.Lost)
		}
	}
}

func orderly(t *testing.T, w World) {
	a, _ := past(t, w)
	write(t, a, created(0, "s", ""), action(1, "s"))
	write(t, a, &journal.Record{Seq: 9, Kind: journal.Mark, Channel: "s"})
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	_, r := past(t, w)
	want(t, "seq", r.Seq, 9)
	want(t, "lost", len(r.Lost), 0)
}

func images(t *testing.T, w World) {
	a, _ := past(t, w)
	write(t, a, created(0, "s", ""), action(1, "s"), action(2, "s"))
	img := &journal.Image{Channel: "s", Seq: 1, Head: jsontext.Value(`{"at":1}`), Summary: jsontext.Value(`{"title":"x"}`), Size: 77}
	if err := a.Save(img); err != nil {
		t.Fatal(err)
	}
	a, r := past(t, w)
	e := r.Channels[0]
	want(t, "entry", line(e.Seq, e.Last, e.Size, string(e.Summary)), `1 2 77 {"title":"x"}`)
	got, tail := load(t, a, "s")
	want(t, "image", string(got.Head), `{"at":1}`)
	want(t, "tail", seqs(tail), []uint64{2})
	want(t, "newest", seqs(r.Newest), []uint64{1, 2})
}

func items(t *testing.T, w World) {
	a, _ := past(t, w)
	write(t, a, created(0, "c", ""))
	for _, step := range []struct {
		keep int
		add  string
		want string
	}{{0, "abc", "abc"}, {3, "d", "abcd"}, {2, "x", "abx"}, {3, "", "abx"}, {0, "", ""}} {
		img := &journal.Image{Channel: "c", Keep: step.keep, Head: jsontext.Value(`{}`)}
		for _, c := range step.add {
			img.Items = append(img.Items, jsontext.Value(`"`+string(c)+`"`))
		}
		if err := a.Save(img); err != nil {
			t.Fatal(err)
		}
		got, _ := load(t, a, "c")
		text := string(bytes.ReplaceAll(bytes.Join(values(got.Items), nil), []byte(`"`), nil))
		want(t, fmt.Sprintf("keep %d, add %q", step.keep, step.add), text, step.want)
	}
}

func values(list []jsontext.Value) (raw [][]byte) {
	for _, v := range list {
		raw = append(raw, v)
	}
	return raw
}

func ended(t *testing.T, w World) {
	a, _ := past(t, w)
	write(t, a, created(0, "s", ""), created(0, "c", "s"), action(1, "c"), action(2, "s"))
	write(t, a, action(3, "c"), &journal.Record{Seq: 3, Kind: journal.Removed, Channel: "c"}, action(4, "s"))
	if err := a.Save(&journal.Image{Channel: "c", Seq: 3, Head: jsontext.Value(`{}`), Items: []jsontext.Value{jsontext.Value(`1`)}}); err != nil {
		t.Fatal(err)
	}
	a, r := past(t, w)
	want(t, "channels", len(r.Channels), 1)
	want(t, "newest", seqs(r.Newest), []uint64{2, 4})
	if _, _, err := a.Load("c"); !errors.Is(err, journal.ErrNoChannel) {
		t.Errorf("load: %v", err)
	}
}

func reused(t *testing.T, w World) {
	a, _ := past(t, w)
	write(t, a, created(0, "c", ""), action(1, "c"), &journal.Record{Seq: 1, Kind: journal.Noted, Channel: "c", Note: "n", Body: jsontext.Value(`1`)})
	write(t, a, &journal.Record{Seq: 1, Kind: journal.Removed, Channel: "c"}, &journal.Record{Seq: 2, Kind: journal.Mark}, created(2, "c", ""), action(3, "c"))
	if err := a.Save(&journal.Image{Channel: "c", Born: 0, Seq: 1, Head: jsontext.Value(`{"old":true}`)}); err != nil {
		t.Fatal(err)
	}
	img, tail := load(t, a, "c")
	want(t, "image", line(string(img.Head), img.Born), `{"first":"c"} 2`)
	want(t, "tail", seqs(tail), []uint64{3})
	if note, err := a.Note("c", "n"); note != nil || err != nil {
		t.Errorf("the old channel's note: %s, %v", note, err)
	}
}

func fleeting(t *testing.T, w World) {
	a, _ := past(t, w)
	write(t, a, &journal.Record{Kind: journal.Created, Channel: "t", Body: jsontext.Value(`{}`)}, action(1, "t"))
	_, r := past(t, w)
	want(t, "channels and actions", len(r.Channels)+len(r.Newest), 0)
	if r.Seq <= 1 {
		t.Errorf("its number is used again: %d", r.Seq)
	}
}

func clients(t *testing.T, w World) {
	a, _ := past(t, w)
	join := func(seq uint64, id string, lineage uint64) *journal.Record {
		return &journal.Record{Seq: seq, Kind: journal.Joined, Body: jsontext.Value(`{"v":` + fmt.Sprint(lineage) + `}`), Origin: journal.Origin{ClientID: id, Lineage: lineage}}
	}
	from := func(r *journal.Record, id string, lineage, clientSeq uint64) *journal.Record {
		r.Origin = journal.Origin{ClientID: id, Lineage: lineage, ClientSeq: clientSeq}
		return r
	}
	write(t, a, created(0, "s", ""), join(1, "a", 1), join(2, "b", 2), join(3, "c", 3))
	write(t, a, from(action(4, "s"), "a", 1, 8), from(action(5, "s"), "a", 1, 5),
		from(&journal.Record{Seq: 6, Kind: journal.Mark, Channel: "s"}, "b", 2, 0))
	write(t, a, &journal.Record{Seq: 6, Kind: journal.Forgotten, Origin: journal.Origin{ClientID: "a", Lineage: 1}}, join(7, "a", 4),
		&journal.Record{Seq: 7, Kind: journal.Forgotten, Origin: journal.Origin{ClientID: "c", Lineage: 3}})
	_, r := past(t, w)
	want(t, "clients", fmt.Sprintf("%+v", r.Clients), fmt.Sprintf("%+v", []journal.Client{
		{ID: "b", Lineage: 2, Body: jsontext.Value(`{"v":2}`), Seen: true},
		{ID: "a", Lineage: 4, Body: jsontext.Value(`{"v":4}`)},
	}))
	want(t, "lineage", r.Lineage, 4)
}

func notes(t *testing.T, w World) {
	a, _ := past(t, w)
	note := func(text string) *journal.Record {
		return &journal.Record{Kind: journal.Noted, Channel: "c", Note: "n", Body: jsontext.Value(text)}
	}
	write(t, a, note("lost: no such channel"), created(0, "c", ""), note("1"), note("2"))
	a, _ = past(t, w)
	got, err := a.Note("c", "n")
	want(t, "note", line(string(got), err), "2 <nil>")
	write(t, a, note(""))
	if got, err = a.Note("c", "n"); got != nil || err != nil {
		t.Errorf("taken away: %q, %v", got, err)
	}
}

func trim(t *testing.T, w World) {
	a, _ := past(t, w)
	write(t, a, created(0, "s", ""), created(0, "c", "s"))
	for seq := uint64(1); seq <= 6; seq += 2 {
		write(t, a, action(seq, "s"), action(seq+1, "c"))
	}
	if err := a.Save(&journal.Image{Channel: "s", Seq: 5, Head: jsontext.Value(`{}`)}); err != nil {
		t.Fatal(err)
	}
	if err := a.Trim(4); err != nil {
		t.Fatal(err)
	}
	a, r := past(t, w)
	want(t, "newest", seqs(r.Newest), []uint64{5, 6})
	want(t, "oldest", r.Oldest, 4)
	_, tail := load(t, a, "c") // no image holds what they did
	want(t, "chat", seqs(tail), []uint64{2, 4, 6})
}

func ring(t *testing.T, w World) {
	a, _ := past(t, w)
	write(t, a, created(0, "s", ""), created(0, "c", "s"))
	for seq := uint64(1); seq < 100; seq += 2 {
		write(t, a, action(seq, "s"), action(seq+1, "c"))
	}
	for _, bounds := range [][2]int{{1, 1 << 20}, {10, 1 << 20}, {37, 1 << 20}, {1000, 200}, {1000, 1 << 20}} {
		a = w.Open(t)
		r, err := a.Recover(bounds[0], bounds[1])
		if err != nil {
			t.Fatal(err)
		}
		var complete []uint64
		for seq := r.Oldest + 1; seq <= 100; seq++ {
			complete = append(complete, seq)
		}
		if !slices.Equal(seqs(r.Newest), complete) || len(complete) == 0 || len(complete) > bounds[0]+2 {
			t.Errorf("bounds %v: %d actions above %d", bounds, len(r.Newest), r.Oldest)
		}
	}
}

func unknown(t *testing.T, w World) {
	a, _ := past(t, w)
	write(t, a, action(1, "nobody made it"))
	if _, _, err := a.Load("nobody made it"); !errors.Is(err, journal.ErrNoChannel) {
		t.Errorf("load: %v", err)
	}
	if err := a.Save(&journal.Image{Channel: "nobody made it", Head: jsontext.Value(`{}`)}); err != nil {
		t.Errorf("save: %v", err)
	}
}
