package git

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
)

// Options of a server.
type Options struct {
	// Repos are the paths of the repositories, each with a name before it and "="
	// where the directory's own will not do.
	Repos []string
	// MaxBytes bounds an answer. Zero: DefaultMaxBytes.
	MaxBytes int64
	// Log never receives contents; nil: discarded.
	Log *slog.Logger
}

// maxWatches bounds the watches of a server.
const maxWatches = 256

// maxChanges bounds the changes of one notification.
const maxChanges = 500

// Server is the Git service. Register its Handler with a client, and let Run run
// for its watches of refs.
type Server struct {
	c        *client.Client
	maxBytes int64
	log      *slog.Logger
	repos    []*repository
	methods  client.Methods
	ctx      context.Context // the life of the server
	cancel   context.CancelFunc

	mu      sync.Mutex // guards watches
	watches map[watch]struct{}
}

// watch is somebody who wants to hear of changed refs.
type watch struct{ repo, serviceID string }

// NewServer opens the repositories. Close it when done.
func NewServer(ctx context.Context, c *client.Client, o Options) (*Server, error) {
	s := &Server{c: c, maxBytes: o.MaxBytes, log: o.Log, watches: make(map[watch]struct{})}
	if s.maxBytes <= 0 {
		s.maxBytes = DefaultMaxBytes
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, spec := range o.Repos {
		if err := s.add(ctx, spec); err != nil {
			_ = s.Close()
			return nil, err
		}
	}
	client.OnCall(&s.methods, MethodRepositories, s.repositories)
	client.OnCall(&s.methods, MethodRefs, s.refs)
	client.OnCall(&s.methods, MethodObjects, s.objects)
	client.OnCall(&s.methods, MethodObjectRange, s.objectRange)
	client.OnCall(&s.methods, MethodWatchRefs, s.watchRefs)
	client.OnCall(&s.methods, MethodUnwatchRefs, s.unwatchRefs)
	return s, nil
}

func (s *Server) add(ctx context.Context, spec string) error {
	name, path, ok := strings.Cut(spec, "=")
	if !ok {
		name, path = "", spec
	}
	r, err := open(ctx, name, path)
	if err != nil {
		return err
	}
	for _, other := range s.repos {
		if other.info.Name == r.info.Name {
			return fmt.Errorf("two repositories are called %s; name one as NAME=%s", r.info.Name, path)
		}
	}
	s.repos = append(s.repos, r)
	return nil
}

// Metadata is what the service says of itself.
func (s *Server) Metadata() Metadata {
	names := make([]string, 0, len(s.repos))
	for _, r := range s.repos {
		names = append(names, r.info.Name)
	}
	return Metadata{Protocol: Protocol, Version: 1, Label: strings.Join(names, ", ")}
}

// Handler is the service.
func (s *Server) Handler() client.Handler { return &s.methods }

// Close ends every process of Git and waits for it. It returns nil always.
func (s *Server) Close() error {
	s.cancel()
	for _, r := range s.repos {
		r.close()
	}
	return nil
}

// Run ends the watches of services that leave the catalogue, until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	list, err := s.c.Services(ctx)
	if err != nil {
		return err
	}
	defer list.Close()
	for _, err := range list.Updates(ctx) {
		if err != nil {
			return err
		}
		s.keep(list.Items)
	}
	return nil
}

// keep drops the watches of services that are not there. It looks at what is there
// now, not at what an update said: a watch may have begun since.
func (s *Server) keep(current func() []ahp.ClientService) {
	s.mu.Lock()
	defer s.mu.Unlock()
	services := current()
	for w := range s.watches {
		if !slices.ContainsFunc(services, func(c ahp.ClientService) bool { return c.ServiceID == w.serviceID }) {
			delete(s.watches, w)
		}
	}
}

// repository is the one a caller means.
func (s *Server) repository(name string) (*repository, error) {
	if name == "" && len(s.repos) == 1 {
		return s.repos[0], nil
	}
	for _, r := range s.repos {
		if r.info.Name == name {
			return r, nil
		}
	}
	if name == "" {
		return nil, ahp.Errorf(CodeNoRepository, "say which repository with repo: %s", s.Metadata().Label)
	}
	return nil, ahp.Errorf(CodeNoRepository, "there is no repository %.100q; getRepositories lists them", name)
}

func (s *Server) repositories(context.Context, client.Sender, RepoParams) (*Repositories, error) {
	answer := &Repositories{Repositories: []RepositoryInfo{}}
	for _, r := range s.repos {
		answer.Repositories = append(answer.Repositories, r.info)
	}
	return answer, nil
}

func (s *Server) refs(ctx context.Context, _ client.Sender, p RefsParams) (*Refs, error) {
	r, err := s.repository(p.Repo)
	if err != nil {
		return nil, err
	}
	return r.listRefs(ctx, &p, s.maxBytes)
}

func (s *Server) objects(ctx context.Context, _ client.Sender, p ObjectsParams) (*Objects, error) {
	r, err := s.repository(p.Repo)
	if err != nil {
		return nil, err
	}
	return r.objects(ctx, p.OIDs, s.bound(p.MaxBytes))
}

// bound is what an answer may take.
func (s *Server) bound(asked int64) int64 {
	if asked > 0 && asked < s.maxBytes {
		return asked
	}
	return s.maxBytes
}

func (s *Server) objectRange(ctx context.Context, _ client.Sender, p RangeParams) (*ObjectRange, error) {
	r, err := s.repository(p.Repo)
	if err != nil {
		return nil, err
	}
	return r.objectRange(ctx, &p, s.maxBytes)
}

type empty struct{}

func (s *Server) watchRefs(ctx context.Context, from client.Sender, p WatchParams) (empty, error) {
	r, err := s.repository(p.Repo)
	if err != nil {
		return empty{}, err
	}
	if err := s.owns(ctx, from, p.ServiceID); err != nil {
		return empty{}, err
	}
	if err := s.enter(watch{r.info.Name, p.ServiceID}); err != nil {
		return empty{}, err
	}
	return empty{}, r.watchRefs(s.ctx, func(changes []RefChange) { s.tell(r.info.Name, changes) })
}

// owns checks that a service is one of the caller's: nobody makes this service
// write to somebody else's.
func (s *Server) owns(ctx context.Context, from client.Sender, id string) error {
	list, err := s.c.Services(ctx)
	if err != nil {
		return err
	}
	defer list.Close()
	_, err = list.Wait(ctx, func(ahp.ClientService) bool { return true }) // it is current then: we are in it
	if err != nil {
		return err
	}
	for _, service := range list.Items() {
		if service.ServiceID == id && service.ClientID == from.ClientID {
			return nil
		}
	}
	return ahp.Errorf(CodeNotYours, "service %.64q is not one of the caller's", id)
}

func (s *Server) enter(w watch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.watches[w]; !ok && len(s.watches) >= maxWatches {
		return ahp.Errorf(CodeTooMany, "%d watches are the limit", maxWatches)
	}
	s.watches[w] = struct{}{}
	return nil
}

func (s *Server) unwatchRefs(_ context.Context, _ client.Sender, p WatchParams) (empty, error) {
	r, err := s.repository(p.Repo)
	if err != nil {
		return empty{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watches, watch{r.info.Name, p.ServiceID}) // knowing the id is enough: it is not to be guessed
	return empty{}, nil
}

// tell notifies whoever watches a repository.
func (s *Server) tell(repo string, changes []RefChange) {
	for part := range slices.Chunk(changes, maxChanges) {
		params, err := ahp.Marshal(RefsChanged{Repo: repo, Changes: part})
		if err != nil { // names always encode
			return
		}
		for _, id := range s.watching(repo) {
			if err := s.c.Service(id).Notify(s.ctx, MethodRefsChanged, params); err != nil {
				s.log.Warn("a change of refs was not told", "err", err)
			}
		}
	}
}

func (s *Server) watching(repo string) (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		if w.repo == repo {
			ids = append(ids, w.serviceID)
		}
	}
	slices.Sort(ids)
	return ids
}
