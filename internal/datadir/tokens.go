package datadir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// Bounds of a tokens file.
const (
	maxTokensFile  = 1 << 20
	maxTokenName   = 64
	maxNamedTokens = 1_000
)

// ErrTokenName means that a token's name cannot be used.
var ErrTokenName = errors.New("a name has 1 to 64 letters, digits or . _ @ -, begins with a letter or digit, and is not \"local\"")

// NamedToken is a token that stands for a principal of its own.
type NamedToken struct {
	Name    string
	Hash    [sha256.Size]byte // of the token, which is kept nowhere
	Created time.Time
}

// Tokens is a file of named tokens. It is a value; changes by several processes
// exclude each other.
type Tokens struct{ path string }

// TokensAt returns the file at path, which need not exist.
func TokensAt(path string) Tokens { return Tokens{path: path} }

// tokensFile is the form on disk.
type tokensFile struct {
	Tokens []tokenEntry `yaml:"tokens"`
}

type tokenEntry struct {
	Name    string    `yaml:"name"`
	SHA256  string    `yaml:"sha256"`
	Created time.Time `yaml:"created"`
}

// ValidTokenName reports whether a token may have the name. "local" is the owner
// of the host and cannot be given away.
func ValidTokenName(name string) bool {
	if name == "" || len(name) > maxTokenName || strings.EqualFold(name, "local") {
		return false
	}
	for i := range len(name) {
		c := name[i]
		alnum := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alnum && (i == 0 || !strings.ContainsRune("._@-", rune(c))) {
			return false
		}
	}
	return true
}

// List returns the tokens in the order in which they were added; none when there
// is no file.
func (t Tokens) List() ([]NamedToken, error) {
	f, err := os.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	defer f.Close()
	// Whoever can write here can let himself in; reading gives only hashes.
	if err := checkMode(f, 0o022, "run chmod 600 on it"); err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxTokensFile+1))
	if err == nil && len(data) > maxTokensFile {
		err = fmt.Errorf("larger than %d bytes", maxTokensFile)
	}
	if err != nil {
		return nil, fmt.Errorf("read tokens: %s: %w", t.path, err)
	}
	list, err := parseTokens(data)
	if err != nil {
		return nil, fmt.Errorf("read tokens: %s: %w", t.path, err)
	}
	return list, nil
}

func parseTokens(data []byte) ([]NamedToken, error) {
	var file tokensFile
	if err := yaml.UnmarshalWithOptions(data, &file, yaml.Strict()); err != nil && !errors.Is(err, io.EOF) {
		// The error's own text quotes the source, which may hold a secret that
		// somebody put there by mistake.
		return nil, errors.New("not a list of name, sha256 and created under \"tokens\"")
	}
	if len(file.Tokens) > maxNamedTokens {
		return nil, fmt.Errorf("more than %d tokens", maxNamedTokens)
	}
	list := make([]NamedToken, 0, len(file.Tokens))
	for i, e := range file.Tokens {
		tok := NamedToken{Name: e.Name, Created: e.Created}
		hash, err := hex.DecodeString(e.SHA256)
		switch {
		case !ValidTokenName(e.Name):
			return nil, fmt.Errorf("token %d: %w", i+1, ErrTokenName)
		case err != nil || len(hash) != len(tok.Hash):
			return nil, fmt.Errorf("token %q: sha256 must have %d hexadecimal digits", e.Name, 2*len(tok.Hash))
		case slices.ContainsFunc(list, func(o NamedToken) bool { return o.Name == e.Name }):
			return nil, fmt.Errorf("token %q is there twice", e.Name)
		}
		copy(tok.Hash[:], hash)
		list = append(list, tok)
	}
	return list, nil
}

// Add makes a token for the name and returns it; it cannot be read again.
func (t Tokens) Add(ctx context.Context, name string, now time.Time) (string, error) {
	if !ValidTokenName(name) {
		return "", fmt.Errorf("add token %q: %w", name, ErrTokenName)
	}
	token := NewToken()
	err := t.change(ctx, func(list []NamedToken) ([]NamedToken, error) {
		switch {
		case slices.ContainsFunc(list, func(o NamedToken) bool { return o.Name == name }):
			return nil, fmt.Errorf("there is a token %q already; remove it first", name)
		case len(list) >= maxNamedTokens:
			return nil, fmt.Errorf("there are %d tokens already, the limit", maxNamedTokens)
		}
		return append(list, NamedToken{Name: name, Hash: sha256.Sum256([]byte(token)), Created: now}), nil
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// Remove takes the token of the name away.
func (t Tokens) Remove(ctx context.Context, name string) error {
	return t.change(ctx, func(list []NamedToken) ([]NamedToken, error) {
		i := slices.IndexFunc(list, func(o NamedToken) bool { return o.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no token %q", name)
		}
		return slices.Delete(list, i, i+1), nil
	})
}

// change replaces the list while no other process can.
func (t Tokens) change(ctx context.Context, edit func([]NamedToken) ([]NamedToken, error)) error {
	x, err := waitLock(ctx, t.path+".lock")
	if err != nil {
		return fmt.Errorf("change tokens: %w", err)
	}
	defer x.Close()
	list, err := t.List()
	if err != nil {
		return err
	}
	if list, err = edit(list); err != nil {
		return err
	}
	var file tokensFile
	for _, tok := range list {
		file.Tokens = append(file.Tokens, tokenEntry{
			Name: tok.Name, SHA256: hex.EncodeToString(tok.Hash[:]), Created: tok.Created.UTC().Truncate(time.Second),
		})
	}
	data, err := yaml.Marshal(file)
	if err == nil {
		err = writeFile(t.path, data)
	}
	if err != nil {
		return fmt.Errorf("change tokens: %w", err)
	}
	return nil
}
