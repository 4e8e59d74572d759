package notify_test

import (
	"testing"

	"github.com/causeway-ahp/causeway/internal/notifytest"
	"github.com/causeway-ahp/causeway/notify"
)

func TestMemoryStoreKeepsTheContract(t *testing.T) {
	notifytest.Contract(t, func(*testing.T) notify.Store { return notify.NewMemoryStore() })
}
