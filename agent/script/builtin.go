package script

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed scripts/*.jsonl
var scripts embed.FS

// DefaultScript is the built-in transcript with a turn for each thing there is to
// show.
const DefaultScript = "default"

// Builtin returns a built-in transcript by name.
func Builtin(name string) (*Transcript, error) {
	data, err := scripts.ReadFile("scripts/" + name + ".jsonl")
	if err != nil {
		return nil, fmt.Errorf("there is no built-in script %q; there are %s", name, strings.Join(Names(), ", "))
	}
	t, err := Read(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("script %s: %w", name, err)
	}
	return t, nil
}

// Names are the built-in transcripts.
func Names() []string {
	files, err := fs.Glob(scripts, "scripts/*.jsonl")
	if err != nil {
		return nil // the pattern is well-formed
	}
	names := make([]string, 0, len(files))
	for _, f := range files {
		names = append(names, strings.TrimSuffix(path.Base(f), ".jsonl"))
	}
	slices.Sort(names)
	return names
}
