package ahp

import (
	"hash/maphash"
	"slices"
)

const (
	listBits  = 5
	listWidth = 1 << listBits // elements in a leaf, children of a node
	listMask  = listWidth - 1
)

// listBody holds the elements of a List: full leaves of listWidth elements in a
// trie addressed by the bits of the index, and at most listWidth more in a tail.
// All of it is immutable once built.
type listBody[T Keyed] struct {
	count int
	shift int          // bits of the index below the root's own; 0: root is a leaf
	root  *listNode[T] // nil while the tail holds everything
	tail  []T
	keys  *listKeys
}

// listNode is a leaf with vals, or has kids and no vals.
type listNode[T Keyed] struct {
	kids []*listNode[T]
	vals []T
}

// newListBody copies the items into a new body in one pass.
func newListBody[T Keyed](items []T) *listBody[T] {
	full := len(items) / listWidth * listWidth
	b := &listBody[T]{count: len(items), tail: slices.Clone(items[full:])}
	var level []*listNode[T]
	for vals := range slices.Chunk(items[:full], listWidth) {
		level = append(level, &listNode[T]{vals: slices.Clone(vals)})
	}
	for ; len(level) > 1; b.shift += listBits {
		var above []*listNode[T]
		for kids := range slices.Chunk(level, listWidth) {
			above = append(above, &listNode[T]{kids: slices.Clone(kids)})
		}
		level = above
	}
	if len(level) == 1 {
		b.root = level[0]
	}
	for i, v := range items {
		b.keys = b.keys.put(v.Key(), i, true)
	}
	return b
}

// leaf returns the elements that share a leaf with index i, which must be in
// range. Since only the trie's leaves stand before it, the tail is aligned too.
func (b *listBody[T]) leaf(i int) []T {
	if i >= b.count-len(b.tail) {
		return b.tail
	}
	n := b.root
	for shift := b.shift; shift > 0; shift -= listBits {
		n = n.kids[i>>shift&listMask]
	}
	return n.vals
}

func (b *listBody[T]) at(i int) T {
	return b.leaf(i)[i&listMask]
}

// with returns a body whose element i, which must be in range, is v. Its key
// must be the old one: the index of keys is shared.
func (b *listBody[T]) with(i int, v T) *listBody[T] {
	c := *b
	if i >= b.count-len(b.tail) {
		c.tail = slices.Clone(b.tail)
		c.tail[i&listMask] = v
	} else {
		c.root = b.root.with(b.shift, i, v)
	}
	return &c
}

func (n *listNode[T]) with(shift, i int, v T) *listNode[T] {
	if shift == 0 {
		vals := slices.Clone(n.vals)
		vals[i&listMask] = v
		return &listNode[T]{vals: vals}
	}
	kids := slices.Clone(n.kids)
	slot := i >> shift & listMask
	kids[slot] = kids[slot].with(shift-listBits, i, v)
	return &listNode[T]{kids: kids}
}

// push returns a body with v behind the last element.
func (b *listBody[T]) push(v T) *listBody[T] {
	c := *b
	c.count++
	c.keys = b.keys.put(v.Key(), b.count, false)
	if len(b.tail) < listWidth {
		c.tail = slices.Concat(b.tail, []T{v})
		return &c
	}
	leaves := b.count - listWidth // elements in the trie
	if b.root != nil && leaves == listWidth<<b.shift {
		c.root = &listNode[T]{kids: []*listNode[T]{b.root}}
		c.shift += listBits
	}
	c.root = c.root.push(c.shift, leaves, &listNode[T]{vals: b.tail})
	c.tail = []T{v}
	return &c
}

// push returns n, which may be nil, with the leaf at index i, the first that n
// does not have.
func (n *listNode[T]) push(shift, i int, leaf *listNode[T]) *listNode[T] {
	if shift == 0 {
		return leaf
	}
	slot := i >> shift & listMask
	kids := make([]*listNode[T], slot+1)
	if n != nil {
		copy(kids, n.kids)
	}
	kids[slot] = kids[slot].push(shift-listBits, i, leaf)
	return &listNode[T]{kids: kids}
}

const (
	listKeyBits = 3
	listKeyMask = 1<<listKeyBits - 1
)

// listKeys is an immutable index from key to the first position that has it. A
// node holds one key itself and sends the others down by the next bits of their
// hash. Keys whose hash agrees in every bit end up as a chain below the same
// child, so they need no case of their own.
type listKeys struct {
	hash uint64
	key  string
	at   int
	kids [1 << listKeyBits]*listKeys
}

// listSeed is drawn at start-up, so that no peer can choose ids that collide.
var listSeed = maphash.MakeSeed()

func (k *listKeys) find(key string) (at int, ok bool) {
	if key == "" {
		return 0, false
	}
	hash := maphash.String(listSeed, key)
	for bits := hash; k != nil; bits >>= listKeyBits {
		if k.hash == hash && k.key == key {
			return k.at, true
		}
		k = k.kids[bits&listKeyMask]
	}
	return 0, false
}

// put returns the index with the key at position at, or k itself if the key is
// there or empty. An own index belongs to the caller alone and is changed in
// place; otherwise the nodes on the way are copied.
func (k *listKeys) put(key string, at int, own bool) *listKeys {
	if key == "" {
		return k
	}
	hash := maphash.String(listSeed, key)
	return k.insert(hash, &listKeys{hash: hash, key: key, at: at}, own)
}

// insert puts leaf below k; bits is what k's ancestors left of the hash.
func (k *listKeys) insert(bits uint64, leaf *listKeys, own bool) *listKeys {
	if k == nil {
		return leaf
	}
	if k.hash == leaf.hash && k.key == leaf.key {
		return k
	}
	slot := bits & listKeyMask
	kid := k.kids[slot].insert(bits>>listKeyBits, leaf, own)
	if kid == k.kids[slot] {
		return k
	}
	if !own {
		c := *k
		k = &c
	}
	k.kids[slot] = kid
	return k
}
