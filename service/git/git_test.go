package git_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/service/git"
)

// TestEveryObject of a large repository comes through the host and is what its id
// says (AHP core, 15.9: batched Git object look-up). Full scale: 50,000 objects.
func TestEveryObject(t *testing.T) {
	r := newRepo(t)
	r.fill(scale.Count(50_000))
	all := r.all()
	_, reader := newWorld(t).user(git.Options{Repos: []string{r.dir}}, git.ReaderOptions{})
	began := time.Now()
	got, missing := read(t, reader, all...)
	took := time.Since(began)
	if len(got) != len(all) || len(missing) != 0 {
		t.Errorf("%d of %d objects, %d missing", len(got), len(all), len(missing))
	}
	began = time.Now()
	r.feed(strings.Join(all, "\n")+"\n", "cat-file", "--batch", "--buffer")
	t.Logf("%d objects in %v, git cat-file alone in %v", len(all), took.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
}

// TestKindsOfRepository: bare, linked work tree, SHA-256, packed refs, annotated
// tags, symbolic refs, detached and unborn HEAD.
func TestKindsOfRepository(t *testing.T) {
	main := newRepo(t)
	first := main.commit("first")
	main.git("tag", "-a", "-m", "annotated", "v1")
	main.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
	main.git("branch", "other")
	main.git("pack-refs", "--all")
	second := main.commit("second")
	bare := filepath.Join(t.TempDir(), "bare.git")
	main.git("clone", "-q", "--bare", main.dir, bare)
	tree := filepath.Join(t.TempDir(), "tree")
	main.git("worktree", "add", "-q", "--detach", tree, first)
	unborn := newRepo(t)
	sha256 := newRepo(t, "--object-format=sha256")
	long := sha256.commit("long")

	call, _ := newWorld(t).user(git.Options{Repos: []string{"main=" + main.dir, bare, "tree=" + tree, "unborn=" + unborn.dir, "sha256=" + sha256.dir}}, git.ReaderOptions{})
	list, err := client.CallService[git.Repositories](within(t), call, git.MethodRepositories, nil)
	want := "[{main sha1 false} {bare sha1 true} {tree sha1 false} {unborn sha1 false} {sha256 sha256 false}]"
	if fmt.Sprint(list.Repositories) != want || err != nil {
		t.Errorf("repositories %v, %v, want %s", list.Repositories, err, want)
	}
	for _, tt := range []struct {
		repo, prefix, head string
		names              []string
	}{
		{"main", "", "{refs/heads/main " + second + "}", []string{"refs/heads/alias", "refs/heads/main", "refs/heads/other", "refs/tags/v1"}},
		{"main", "refs/tags/", "{refs/heads/main " + second + "}", []string{"refs/tags/v1"}},
		{"bare", "refs/heads/o", "{refs/heads/main " + second + "}", []string{"refs/heads/other"}},
		{"tree", "refs/heads/m", "{ " + first + "}", []string{"refs/heads/main"}},
		{"unborn", "", "{refs/heads/main }", nil},
		{"sha256", "", "{refs/heads/main " + long + "}", []string{"refs/heads/main"}},
	} {
		p := git.RefsParams{RepoParams: git.RepoParams{Repo: tt.repo}, Prefix: tt.prefix}
		refs, err := client.CallService[git.Refs](within(t), call, git.MethodRefs, p)
		var names []string
		for _, ref := range refs.Refs {
			names = append(names, ref.Name)
			if ref.Name == "refs/tags/v1" && ref.Peeled != first || ref.Name == "refs/heads/alias" && ref.Symref != "refs/heads/main" || ref.Name == "refs/heads/other" && ref.OID != first {
				t.Errorf("%s: %+v", tt.repo, ref)
			}
		}
		if fmt.Sprint(refs.Head) != tt.head || !slices.Equal(names, tt.names) || err != nil {
			t.Errorf("refs of %s: %v %v, %v, want %s %v", tt.repo, refs.Head, names, err, tt.head, tt.names)
		}
	}
	got, err := client.CallService[git.Objects](within(t), call, git.MethodObjects, git.ObjectsParams{RepoParams: git.RepoParams{Repo: "sha256"}, OIDs: []string{long}})
	if err != nil || len(got.Objects) != 1 || git.Verify(got.Objects[0]) != nil {
		t.Errorf("object of the SHA-256 repository: %+v, %v", got, err)
	}
}

// TestBoundedAnswers: what is above the bound comes in several answers, and an
// object that is above it alone in pieces; nothing is left out or doubled.
func TestBoundedAnswers(t *testing.T) {
	r := newRepo(t)
	var oids []string
	for i := range 20 {
		oids = append(oids, r.blob(strings.Repeat(fmt.Sprint(i), 300*i)))
	}
	large := r.blob(strings.Repeat("0123456789abcdef", 4<<10))
	oids = append(oids, large, strings.Repeat("0", 40), r.commit("c"), r.blob("another"))
	var branches strings.Builder
	for i := range 30 {
		fmt.Fprintf(&branches, "create refs/heads/branch-%02d HEAD\n", i)
	}
	r.feed(branches.String(), "update-ref", "--stdin")
	const bound = 8 << 10
	call, reader := newWorld(t).user(git.Options{Repos: []string{r.dir}, MaxBytes: bound}, git.ReaderOptions{CacheBytes: -1})
	for rest := oids; len(rest) > 0; {
		var raw []byte
		page, err := client.CallService[git.Objects](within(t), call, git.MethodObjects, git.ObjectsParams{OIDs: rest})
		if err != nil {
			t.Fatal(err)
		}
		if raw, err = ahp.Marshal(page); err != nil || len(raw) > bound+1024 {
			t.Errorf("an answer of %d bytes, the bound is %d (%v)", len(raw), bound, err)
		}
		n := page.Next
		if n == 0 {
			n = len(rest)
		}
		rest = rest[n:]
	}
	got, missing := read(t, reader, oids...)
	if len(got) != len(oids)-1 || !slices.Equal(missing, []string{strings.Repeat("0", 40)}) {
		t.Errorf("%d objects of %d, missing %v", len(got), len(oids), missing)
	}
	if len(got[large].Data) != 64<<10 {
		t.Errorf("the large one has %d bytes", len(got[large].Data))
	}
	refs, err := reader.Refs(within(t), "refs/heads/branch-")
	if err != nil || len(refs.Refs) != 30 || refs.Refs[29].Name != "refs/heads/branch-29" {
		t.Errorf("%d refs, %v", len(refs.Refs), err)
	}
}

// TestRanges of a large object, in any order.
func TestRanges(t *testing.T) {
	r := newRepo(t)
	content := strings.Repeat("0123456789", 10_000)
	oid := r.blob(content)
	call, _ := newWorld(t).user(git.Options{Repos: []string{r.dir}, MaxBytes: 8 << 10}, git.ReaderOptions{})
	for _, p := range []git.RangeParams{
		{Offset: 0, Length: 100}, {Offset: 100, Length: 50}, {Offset: 5000, Length: 7}, {Offset: 3, Length: 4},
		{Offset: 99_990, Length: 100}, {Offset: 100_000, Length: 1}, {Offset: 1 << 40}, {Offset: 10},
	} {
		p.OID = oid
		got, err := client.CallService[git.ObjectRange](within(t), call, git.MethodObjectRange, p)
		if err != nil || got.Size != 100_000 || got.Type != "blob" {
			t.Fatalf("%+v: %+v, %v", p, got, err)
		}
		from := min(p.Offset, 100_000)
		want := content[from:]
		if p.Length > 0 {
			want = want[:min(int64(len(want)), p.Length)]
		} else if len(want) > 0 {
			want = want[:min(len(want), len(got.Data))]
		}
		if string(got.Data) != want || p.Length == 0 && p.Offset == 10 && len(got.Data) < 4<<10 {
			t.Errorf("%+v: %d bytes %.20q, want %d bytes %.20q", p, len(got.Data), got.Data, len(want), want)
		}
	}
	_, err := client.CallService[git.ObjectRange](within(t), call, git.MethodObjectRange, git.RangeParams{OID: strings.Repeat("0", 40)})
	if !errors.Is(err, git.ErrNoObject) {
		t.Errorf("a range of nothing: %v", err)
	}
}

// TestCorruptObjects are named; those around them come all the same.
func TestCorruptObjects(t *testing.T) {
	r := newRepo(t)
	var oids []string
	for i := range 10 {
		oids = append(oids, r.blob(strings.Repeat(fmt.Sprint(i), 5000+i)))
	}
	for _, i := range []int{3, 7} {
		path := filepath.Join(r.dir, ".git", "objects", oids[i][:2], oids[i][2:])
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data = append(data[:len(data)/2:len(data)/2], make([]byte, len(data)/2)...)
		if err := errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	call, _ := newWorld(t).user(git.Options{Repos: []string{r.dir}}, git.ReaderOptions{})
	got, err := client.CallService[git.Objects](within(t), call, git.MethodObjects, git.ObjectsParams{OIDs: oids})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Objects) != 8 || len(got.Broken) != 2 || got.Broken[0].OID != oids[3] || got.Broken[1].OID != oids[7] || got.Broken[0].Error == "" {
		t.Errorf("%d objects, missing %v, broken %+v", len(got.Objects), got.Missing, got.Broken)
	}
	_, err = client.CallService[git.ObjectRange](within(t), call, git.MethodObjectRange, git.RangeParams{OID: oids[3]})
	if !errors.Is(err, git.ErrNoObject) {
		t.Errorf("a range of a broken object: %v", err)
	}
}

// TestRefused: what is no full id is never given to Git, and unknown names are told.
func TestRefused(t *testing.T) {
	r := newRepo(t)
	r.commit("c")
	call, _ := newWorld(t).user(git.Options{Repos: []string{"a=" + r.dir, "b=" + r.dir}}, git.ReaderOptions{})
	one := git.RepoParams{Repo: "a"}
	invalid := error(jsonrpc.ErrInvalidParams)
	for _, tt := range []struct {
		method string
		params any
		want   error
	}{
		{git.MethodObjects, git.ObjectsParams{RepoParams: one, OIDs: []string{"HEAD"}}, invalid},
		{git.MethodObjects, git.ObjectsParams{RepoParams: one, OIDs: []string{"--help"}}, invalid},
		{git.MethodObjects, git.ObjectsParams{RepoParams: one, OIDs: []string{strings.Repeat("0", 64)}}, invalid},
		{git.MethodObjects, git.ObjectsParams{RepoParams: one, OIDs: make([]string, 10_001)}, git.ErrTooMany},
		{git.MethodObjects, git.ObjectsParams{OIDs: nil}, git.ErrNoRepository},
		{git.MethodRefs, git.RefsParams{RepoParams: git.RepoParams{Repo: "c"}}, git.ErrNoRepository},
		{git.MethodRefs, git.RefsParams{RepoParams: one, Prefix: "--upload"}, invalid},
		{git.MethodObjectRange, git.RangeParams{RepoParams: one, OID: strings.Repeat("0", 40), Offset: -1}, invalid},
		{git.MethodWatchRefs, git.WatchParams{RepoParams: one, ServiceID: call.ID()}, git.ErrNotYours},
		{git.MethodWatchRefs, git.WatchParams{RepoParams: one, ServiceID: "nobody"}, git.ErrNotYours},
		{"else", nil, jsonrpc.ErrMethodNotFound},
	} {
		if err := call.Call(within(t), tt.method, tt.params, nil); !errors.Is(err, tt.want) {
			t.Errorf("%s %.80v: %v, want %v", tt.method, tt.params, err, tt.want)
		}
	}
	c := newWorld(t).dial()
	for _, repos := range [][]string{{t.TempDir()}, {filepath.Join(t.TempDir(), "none")}, {r.dir, r.dir}} {
		if s, err := git.NewServer(t.Context(), c, git.Options{Repos: repos}); err == nil {
			t.Errorf("a server of %v", repos)
			_ = s.Close()
		}
	}
}

// TestReplacedObjects are read as their ids say.
func TestReplacedObjects(t *testing.T) {
	r := newRepo(t)
	one, two := r.blob("one"), r.blob("two")
	r.git("replace", one, two)
	_, reader := newWorld(t).user(git.Options{Repos: []string{r.dir}}, git.ReaderOptions{})
	o, err := reader.Object(within(t), one)
	if err != nil || string(o.Data) != "one" {
		t.Errorf("got %q, %v", o.Data, err)
	}
}

// TestReaderKeepsObjects: what was read is not asked for again, also when the
// service has left; and it comes back under another id.
func TestReaderKeepsObjects(t *testing.T) {
	r := newRepo(t)
	kept, other := r.blob("kept"), r.blob("other")
	w := newWorld(t)
	_, first := w.serve(git.Options{Repos: []string{r.dir}})
	reader, err := git.NewReader(t.Context(), w.dial(), git.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	read(t, reader, kept)
	_ = first.Close()
	if got, _ := read(t, reader, kept); string(got[kept].Data) != "kept" {
		t.Errorf("got %v", got)
	}
	w.serve(git.Options{Repos: []string{r.dir}})
	if got, _ := read(t, reader, other); string(got[other].Data) != "other" {
		t.Errorf("got %v", got)
	}
	if _, err := reader.Object(within(t), strings.Repeat("1", 40)); !errors.Is(err, git.ErrNoObject) {
		t.Errorf("an object that is not there: %v", err)
	}
}

func TestVerify(t *testing.T) {
	o := git.Object{OID: "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", Type: "blob"}
	if err := git.Verify(o); err != nil {
		t.Error(err)
	}
	for _, bad := range []git.Object{
		{OID: o.OID, Type: "tree"}, {OID: o.OID, Type: "blob", Data: []byte("x"), Size: 1}, {OID: o.OID, Type: "blob", Size: 1}, {OID: "", Type: "blob"},
	} {
		if err := git.Verify(bad); !errors.Is(err, git.ErrMismatch) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
