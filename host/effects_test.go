package host

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
)

// TestEffectOrder: effects of a channel run one at a time, in the order of their
// numbers, while channels do not wait for each other.
func TestEffectOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		var mu sync.Mutex
		running, seen := make(map[ahp.URI]int), make(map[ahp.URI][]uint64)
		together := 0
		chatScheme := w.h.registry.schemes[ahp.KindChat]
		chatScheme.Effect = func(ctx context.Context, e Committed) {
			mu.Lock()
			running[e.Channel]++
			together = max(together, len(running))
			if running[e.Channel] > 1 {
				t.Errorf("two effects of %s run at a time", e.Channel)
			}
			seen[e.Channel] = append(seen[e.Channel], e.ServerSeq)
			mu.Unlock()
			_ = sleep(ctx, time.Second)
			mu.Lock()
			delete(running, e.Channel)
			mu.Unlock()
		}
		p := w.peer("a")
		p.initialize("a")
		if err := w.h.Create("ahp-session:/s", labSession("x"), ""); err != nil {
			t.Fatal(err)
		}
		for _, chat := range []ahp.URI{"ahp-chat:/1", "ahp-chat:/2"} {
			if err := w.h.Create(chat, labChat(chat), "ahp-session:/s"); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 10 {
			chat := fmt.Sprint("ahp-chat:/", 1+i%2)
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":%d,"action":{"type":"chat/turnStarted","turnId":"t%d","startedAt":"x","message":{"text":"go"}}}}`, chat, 2*i+1, i))
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":%d,"action":{"type":"chat/turnCancelled","turnId":"t%d"}}}`, chat, 2*i+2, i))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for chat, list := range seen {
			if len(list) != 5 || !slices.IsSorted(list) {
				t.Errorf("effects of %s: %v, want 5 in order", chat, list)
			}
		}
		if len(seen) != 2 || together != 2 {
			t.Errorf("%d channels had effects, %d at a time, want 2", len(seen), together)
		}
	})
}
