package service

import (
	"crypto/rand"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/go-json-experiment/json/jsontext"
)

// service is a registration. Everything but calls and gone is set once.
type service struct {
	id       string
	clientID string
	owner    *host.Conn
	metadata jsontext.Value // an object, normalised
	// Beginnings of the params of what the owner is sent, up to the sender's id.
	notification, request []byte

	// Feature.mu guards these.
	calls map[*call]struct{} // without an answer
	gone  bool
}

const (
	notificationHead = `{"jsonrpc":"2.0","method":"` + ahp.MethodClientServiceNotification + `","params":`
	paramsHead       = `{"channel":"` + string(ahp.ClientServicesURI) + `","serviceId":"`
	paramsSender     = `","senderClientId":`
)

// newService gives a registration its id: 130 random bits in characters that
// need no escape.
func newService(owner *host.Conn, metadata jsontext.Value) *service {
	id := rand.Text()
	s := &service{
		id: id, clientID: owner.ClientID(), owner: owner, metadata: metadata, calls: make(map[*call]struct{}),
		request: []byte(paramsHead + id + paramsSender),
	}
	s.notification = append([]byte(notificationHead), s.request...)
	return s
}

// entry is the service as the catalogue shows it.
func (s *service) entry() ahp.ClientService {
	return ahp.ClientService{ServiceID: s.id, ClientID: s.clientID, Metadata: s.metadata}
}

// roll is the services at one moment. It is never changed.
type roll struct {
	byID  map[string]*service
	order []*service // of registration
}

// registry holds the services. Look-ups, one for each relayed message, take no
// lock; changes are rare and copy.
type registry struct {
	mu      sync.Mutex // serialises changes (docs/LOCKS.md)
	current atomic.Pointer[roll]
}

var emptyRoll = new(roll)

func (r *registry) roll() *roll {
	if now := r.current.Load(); now != nil {
		return now
	}
	return emptyRoll
}

// get returns the service with an id, nil without one. Who was told an id finds the
// service: a look-up that fails waits for an addition that is being made.
func (r *registry) get(id []byte) *service {
	if s := r.roll().byID[string(id)]; s != nil {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.roll().byID[string(id)]
}

// add adds a service right after announce has told its owner the id, as one step for
// who looks it up. Feature.enrol has seen to it that there are not too many.
func (r *registry) add(s *service, announce func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	announce()
	old := r.roll()
	next := &roll{byID: make(map[string]*service, len(old.byID)+1), order: slices.Concat(old.order, []*service{s})}
	maps.Copy(next.byID, old.byID)
	next.byID[s.id] = s
	r.current.Store(next)
}

// remove removes services. Those that are not there are ignored.
func (r *registry) remove(list []*service) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.roll()
	next := &roll{byID: maps.Clone(old.byID)}
	for _, s := range list {
		delete(next.byID, s.id)
	}
	for _, s := range old.order {
		if next.byID[s.id] != nil {
			next.order = append(next.order, s)
		}
	}
	r.current.Store(next)
}
