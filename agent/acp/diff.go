package acp

import (
	"encoding/base64"
	"path/filepath"
	"strings"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
)

// diffContent is a change of a file as a piece of a tool call. Without the old
// text the file is new.
func diffContent(c *toolContent) ahp.ToolResultContent {
	before, after, stats := editOf(c)
	return ahp.ToolResultContent{Type: ahp.ContentFileEdit, Before: before, After: after, Diff: stats}
}

// editsOf are the changes among the content of a call, for whoever is to consent.
func editsOf(content []toolContent) *ahp.FileEdits {
	var items []ahp.FileEdit
	for i := range content {
		if content[i].Type == contentDiff {
			before, after, stats := editOf(&content[i])
			items = append(items, ahp.FileEdit{Before: before, After: after, Diff: stats})
		}
	}
	if items == nil {
		return nil
	}
	return &ahp.FileEdits{Items: items}
}

func editOf(c *toolContent) (before, after *ahp.FileEditSide, stats *ahp.FileEditStats) {
	uri := c.Path
	if filepath.IsAbs(c.Path) {
		uri = agent.FileURI(c.Path)
	}
	old := ""
	if c.OldText != nil {
		old = *c.OldText
		before = editSide(uri, old)
	}
	after = editSide(uri, c.NewText)
	added, removed := lineChanges(old, c.NewText)
	return before, after, &ahp.FileEditStats{Added: &added, Removed: &removed}
}

// editSide is one side of a change. Its text stands in the state itself up to a
// size; beyond it the file stands for it.
func editSide(uri ahp.URI, text string) *ahp.FileEditSide {
	side := &ahp.FileEditSide{URI: uri}
	side.Content.SizeHint = new(float64(len(text)))
	side.Content.ContentType = new("text/plain")
	side.Content.URI = uri
	if len(text) <= maxInlineBytes {
		side.Content.URI = dataURI("text/plain;charset=utf-8", base64.StdEncoding.EncodeToString([]byte(text)))
	}
	return side
}

// maxDiffLines bounds what is compared line by line; beyond it lines that are in
// both texts are counted without regard to their order.
const maxDiffLines = 2000

// lineChanges counts lines added and removed.
func lineChanges(before, after string) (added, removed int64) {
	a, b := splitLines(before), splitLines(after)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	common := commonLines(a, b)
	return int64(len(b) - common), int64(len(a) - common)
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// commonLines is the length of the longest common subsequence.
func commonLines(a, b []string) int {
	if len(a)*len(b) > maxDiffLines*maxDiffLines {
		return sharedLines(a, b)
	}
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			above := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return row[len(b)]
}

func sharedLines(a, b []string) (n int) {
	count := make(map[string]int, len(a))
	for _, x := range a {
		count[x]++
	}
	for _, y := range b {
		if count[y] > 0 {
			count[y]--
			n++
		}
	}
	return n
}
