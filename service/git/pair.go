package git

import (
	"context"
	"iter"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
)

// pair is who tells and who hears: both get new ids when their connections are lost.
type pair struct{ git, ear string }

// watched yields the pair now and whenever one of the two has another id.
func (r *Reader) watched(ctx context.Context, ear *client.Registration) iter.Seq2[pair, error] {
	return func(yield func(pair, error) bool) {
		var last pair
		for u, err := range r.list.Updates(ctx) {
			if err != nil {
				if ctx.Err() == nil {
					yield(pair{}, err)
				}
				return
			}
			now := pair{git: r.first(u.Services), ear: ear.ID()}
			if now == last || now.git == "" || !lists(u.Services, now.ear) {
				continue // the catalogue will change once more
			}
			if last = now; !yield(now, nil) {
				return
			}
		}
	}
}

func (r *Reader) first(services []ahp.ClientService) string {
	for _, s := range services {
		if r.opts.Match(s) {
			return s.ServiceID
		}
	}
	return ""
}

func lists(services []ahp.ClientService, id string) bool {
	for _, s := range services {
		if s.ServiceID == id {
			return true
		}
	}
	return false
}
