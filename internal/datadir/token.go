package datadir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// minTokenChars is the shortest token accepted from a file. One that NewToken
// made has 26 characters.
const minTokenChars = 22

// maxTokenFile bounds what is read of a token file.
const maxTokenFile = 4 << 10

// NewToken returns a random token of 130 bits in letters and digits, which need
// no escaping in a URL.
func NewToken() string { return rand.Text() }

// Token returns the directory's own token, made now if there is none. It is the
// same for as long as the file is there. Two processes that make it at once get
// the same one.
func (d Dir) Token() (string, error) {
	path := d.file(tokenName)
	token, err := readToken(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	if err := createToken(path); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	return readToken(path)
}

// createToken writes a new token unless somebody else was faster: a link, unlike
// a rename, never replaces.
func createToken(path string) error {
	fresh := path + "." + rand.Text()
	if err := writeFile(fresh, []byte(NewToken()+"\n")); err != nil {
		return err
	}
	err := os.Link(fresh, path)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return errors.Join(err, os.Remove(fresh))
}

func readToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	defer f.Close()
	if err := checkMode(f, 0o077, "delete it to get a new token"); err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxTokenFile))
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < minTokenChars || strings.ContainsFunc(token, func(r rune) bool { return !urlSafe(r) }) {
		return "", fmt.Errorf("%s holds no token of at least %d URL-safe characters; delete it to get a new one", path, minTokenChars)
	}
	return token, nil
}

func urlSafe(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-._~", r)
}
