package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const masked = "***"

// Secret is a value that is never shown: whatever prints, logs or encodes it
// writes "***" (notifications, 10.2). Reveal is the one way to its text.
type Secret struct{ text string }

// NewSecret wraps a text that must not be shown.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal returns the text, for the one place that signs or sends it.
func (s Secret) Reveal() string { return s.text }

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.text == "" }

// Format implements fmt.Formatter for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(masked)) }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(masked) }

// MarshalJSONTo writes "***".
func (s Secret) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteToken(jsontext.String(masked))
}

// MarshalText writes "***", for encoders that ask for text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(masked), nil }

// UnmarshalJSONFrom reads a secret that a caller sent.
func (s *Secret) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return json.UnmarshalDecode(dec, &s.text)
}

// ErrNoSecret is returned for a reference that names nothing.
var ErrNoSecret = errors.New("there is no such secret")

// Secrets keeps what routes refer to. References of different principals never
// meet. Methods may be called concurrently.
type Secrets interface {
	// Get returns a principal's entry. Without one it returns ErrNoSecret.
	Get(ctx context.Context, principal, ref string) (Secret, error)
	// Put stores an entry, durably when it returns.
	Put(ctx context.Context, principal, ref string, s Secret) error
	// Delete removes an entry. That there was none is no error.
	Delete(ctx context.Context, principal, ref string) error
}

// MemorySecrets keeps secrets for the life of the process.
type MemorySecrets struct {
	mu      sync.Mutex
	entries map[[2]string]Secret
}

// NewMemorySecrets returns an empty store.
func NewMemorySecrets() *MemorySecrets {
	return &MemorySecrets{entries: make(map[[2]string]Secret)}
}

// Get implements Secrets.
func (m *MemorySecrets) Get(_ context.Context, principal, ref string) (Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.entries[[2]string{principal, ref}]
	if !ok {
		return Secret{}, ErrNoSecret
	}
	return s, nil
}

// Put implements Secrets.
func (m *MemorySecrets) Put(_ context.Context, principal, ref string, s Secret) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries[[2]string{principal, ref}] = s
	return nil
}

// Delete implements Secrets.
func (m *MemorySecrets) Delete(_ context.Context, principal, ref string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, [2]string{principal, ref})
	return nil
}

var _ Secrets = (*MemorySecrets)(nil)
