package journal_test

import (
	"testing"

	"github.com/causeway-ahp/causeway/internal/archive"
	"github.com/causeway-ahp/causeway/journal"
)

type memoryWorld struct{ m *journal.Memory }

func (w memoryWorld) Open(*testing.T) journal.Archive { return w.m }

func TestMemoryContract(t *testing.T) {
	archive.Contract(t, func(*testing.T) archive.World { return memoryWorld{journal.NewMemory(archive.Block)} })
}
