package notify

import (
	"context"
	"errors"
	"time"
)

// Table names a kind of row.
type Table string

// Tables of a store.
const (
	Calls      Table = "calls"
	Deliveries Table = "deliveries"
	Bodies     Table = "bodies"   // frozen bodies, by delivery
	Results    Table = "results"  // masked results, by call
	Attempts   Table = "attempts" // what each attempt came to; Parent is the delivery
	Endpoints  Table = "endpoints"
	Installs   Table = "installs"
	Positions  Table = "positions"
	Owners     Table = "owners"
)

// AllTables are the tables a store has.
var AllTables = []Table{Calls, Deliveries, Bodies, Results, Attempts, Endpoints, Installs, Positions, Owners}

// Row is a record: columns that rows are found by, and a document. What a
// column means differs by table; an unused one is empty. Times are kept to the
// microsecond.
type Row struct {
	ID        string
	Parent    string // what it belongs to
	Principal string
	Key       string // a second name, not unique
	State     string
	Owner     string // the process that works on it, "" for none
	Due       time.Time
	Created   time.Time
	Size      int64 // bytes it stands for
	Doc       []byte
}

// Column names a text column of a Row.
type Column string

// Columns rows can be selected by.
const (
	ByParent    Column = "parent"
	ByPrincipal Column = "principal"
	ByKey       Column = "key"
	ByState     Column = "state"
	ByOwner     Column = "owner"
)

// Cond wants a column to have a value.
type Cond struct {
	Column Column
	Value  string
}

// Order of the rows that are found; rows that are equal in it come by ID.
type Order int

// Orders. The zero value is the order of IDs.
const (
	OrderID Order = iota
	OrderDue
	OrderCreated
	OrderNewest // by Created, the latest first
)

// Query selects rows of a table. The zero value selects all.
type Query struct {
	Where         []Cond
	DueBy         time.Time // Due is not after it; zero: any
	DueAfter      time.Time // Due is after it; zero: any
	CreatedBefore time.Time // zero: any
	CreatedSince  time.Time // Created is not before it; zero: any
	Order         Order
	Limit         int // 0: none
}

// ErrNotFound is returned by Get for an ID that no row has.
var ErrNotFound = errors.New("not found")

// Tx reads and writes rows in one transaction. It belongs to the function it
// was given to and to its goroutine.
type Tx interface {
	Get(t Table, id string) (Row, error)
	Put(t Table, r Row) error // adds it, or replaces the one with its ID
	Delete(t Table, id string) error
	Find(t Table, q Query) ([]Row, error)
	Count(t Table, q Query) (int, error)  // ignores Order
	Size(t Table, q Query) (int64, error) // sum of Size; ignores Order and Limit
}

// Store keeps the engine's records. Several processes may share one; all
// methods may be called concurrently.
type Store interface {
	// Update runs fn, at most once, with exclusive access and returns nil when
	// what it did is durable against the loss of power. When fn returns an error nothing of
	// it is kept and Update returns that error. Updates of several callers may
	// be committed together; fn must not wait for another one.
	Update(ctx context.Context, fn func(Tx) error) error
	// View runs fn on a consistent state; it cannot write.
	View(ctx context.Context, fn func(Tx) error) error
	// Close waits for what is running and releases the store.
	Close() error
}

// ErrReadOnly is returned by writes inside View.
var ErrReadOnly = errors.New("a view cannot write")

// ErrStoreClosed is returned by a store after Close.
var ErrStoreClosed = errors.New("the store is closed")
