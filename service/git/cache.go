package git

import (
	"container/list"
	"sync"
)

// cache keeps objects by their ids, the ones used last, bounded in bytes.
type cache struct {
	limit int64

	mu     sync.Mutex // guards what follows
	byID   map[string]*list.Element
	recent *list.List // of Object, the one used last in front
	bytes  int64
}

func newCache(limit int64) *cache {
	return &cache{limit: limit, byID: make(map[string]*list.Element), recent: list.New()}
}

func (c *cache) get(oid string) (Object, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byID[oid]
	if e == nil {
		return Object{}, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(Object), true
}

// put keeps an object, unless it would displace more than half of the others.
func (c *cache) put(o Object) {
	size := objectOverhead + int64(len(o.Data))
	if size > c.limit/2 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[o.OID] != nil {
		return
	}
	c.byID[o.OID] = c.recent.PushFront(o)
	c.bytes += size
	for c.bytes > c.limit {
		oldest := c.recent.Back()
		old := c.recent.Remove(oldest).(Object)
		delete(c.byID, old.OID)
		c.bytes -= objectOverhead + int64(len(old.Data))
	}
}
