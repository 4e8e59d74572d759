package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"
)

// applyConfig sets the flags that a YAML file names, except those given on the
// command line. A list is for a repeatable flag.
func applyConfig(flags *pflag.FlagSet, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(data, &values); err != nil && !errors.Is(err, io.EOF) {
		return usagef("%s is not a YAML list of flags and values", path)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		f := flags.Lookup(name)
		if f == nil || f.Hidden || name == "config" || name == "help" {
			return usagef("%s: there is no flag %q to set", path, name)
		}
		if f.Changed {
			continue
		}
		if err := setFlag(f, values[name]); err != nil {
			return usagef("%s: %s: %w", path, name, err)
		}
		f.Changed = true
	}
	return nil
}

func setFlag(f *pflag.Flag, value any) error {
	list, isList := value.([]any)
	several, repeatable := f.Value.(pflag.SliceValue)
	if !repeatable {
		return setScalar(f, value)
	}
	if !isList {
		list = []any{value}
	}
	texts := make([]string, 0, len(list))
	for _, v := range list {
		text, err := scalar(v)
		if err != nil {
			return err
		}
		texts = append(texts, text)
	}
	return several.Replace(texts)
}

func setScalar(f *pflag.Flag, value any) error {
	text, err := scalar(value)
	if err != nil {
		return err
	}
	return f.Value.Set(text)
}

// scalar is a value as one would type it.
func scalar(value any) (string, error) {
	switch value.(type) {
	case string, bool, int, int64, uint64, float64:
		return fmt.Sprint(value), nil
	}
	return "", errors.New("one value is expected")
}
