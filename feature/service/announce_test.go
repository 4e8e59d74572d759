package service

import "testing"

// TestAnIDThatWasToldIsFound: a look-up by who was told the id waits until the
// service is there, however soon it comes.
func TestAnIDThatWasToldIsFound(t *testing.T) {
	var r registry
	s := &service{id: "x"}
	told := make(chan struct{})
	found := make(chan *service)
	go func() {
		<-told
		found <- r.get([]byte("x"))
	}()
	r.add(s, func() { close(told) })
	if got := <-found; got != s {
		t.Errorf("found %v", got)
	}
}
