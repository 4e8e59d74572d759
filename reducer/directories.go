package reducer

import (
	"slices"

	"github.com/causeway-ahp/causeway/ahp"
)

// Sessions and chats keep their working directories by the same rules
// (AHP channels, 2.2 and 2.3, since 0.7).

// withDirectory adds dir unless it is there.
func withDirectory(dirs []ahp.URI, dir ahp.URI) (next []ahp.URI, changed bool) {
	if slices.Contains(dirs, dir) {
		return dirs, false
	}
	return appended(dirs, dir), true
}

// withoutDirectory removes dir. The list may become empty, never absent: a chat
// without the list uses all of its session's directories (AHP channels, 4.27).
func withoutDirectory(dirs []ahp.URI, dir ahp.URI) (next []ahp.URI, changed bool) {
	return without(dirs, func(d *ahp.URI) bool { return *d == dir })
}

// swapDirectory puts repl in place of dir and keeps the list free of
// duplicates: a replacement that already stands before dir only drops dir, one
// that stands after it moves forward.
func swapDirectory(dirs []ahp.URI, dir, repl ahp.URI) (next []ahp.URI, changed bool) {
	at := slices.Index(dirs, dir)
	if at < 0 {
		return dirs, false
	}
	next = slices.Clone(dirs[:at])
	if !slices.Contains(next, repl) {
		next = append(next, repl)
	}
	for _, d := range dirs[at+1:] {
		if d != repl {
			next = append(next, d)
		}
	}
	return next, !slices.Equal(next, dirs)
}
