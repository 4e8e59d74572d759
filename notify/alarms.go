package notify

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// alarms call functions at their time, each on a goroutine of the engine's. One
// loop waits for all of them. There is at most one alarm a key.
type alarms struct {
	e    *Engine
	wake chan struct{} // holds one token when the first alarm has changed

	mu    sync.Mutex
	queue alarmQueue
	byKey map[string]*alarm
}

type alarm struct {
	key   string
	at    time.Time
	fn    func(context.Context)
	index int // in the heap
}

func newAlarms(e *Engine) *alarms {
	return &alarms{e: e, wake: make(chan struct{}, 1), byKey: make(map[string]*alarm)}
}

// set replaces the alarm of a key.
func (a *alarms) set(key string, at time.Time, fn func(context.Context)) {
	a.mu.Lock()
	a.removeLocked(key)
	al := &alarm{key: key, at: at, fn: fn}
	a.byKey[key] = al
	heap.Push(&a.queue, al)
	first := a.queue[0] == al
	a.mu.Unlock()
	if first {
		select {
		case a.wake <- struct{}{}:
		default:
		}
	}
}

// clear takes the alarm of a key back, if it has not rung.
func (a *alarms) clear(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.removeLocked(key)
}

func (a *alarms) removeLocked(key string) {
	if al, ok := a.byKey[key]; ok {
		heap.Remove(&a.queue, al.index)
		delete(a.byKey, key)
	}
}

// due takes the alarms whose time has come, and tells when the next one's will;
// zero if there is none.
func (a *alarms) due(now time.Time) (list []*alarm, next time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.queue) > 0 && !a.queue[0].at.After(now) {
		al := heap.Pop(&a.queue).(*alarm)
		delete(a.byKey, al.key)
		list = append(list, al)
	}
	if len(a.queue) > 0 {
		next = a.queue[0].at
	}
	return list, next
}

func (a *alarms) loop() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		list, next := a.due(time.Now())
		for _, al := range list {
			a.e.work.Go(func() { al.fn(a.e.life) })
		}
		wait := time.Hour
		if !next.IsZero() {
			wait = time.Until(next)
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-a.wake:
		case <-a.e.life.Done():
			return
		}
	}
}

// alarmQueue is a heap by time.
type alarmQueue []*alarm

func (q alarmQueue) Len() int           { return len(q) }
func (q alarmQueue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q alarmQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}
func (q *alarmQueue) Push(x any) {
	a := x.(*alarm)
	a.index = len(*q)
	*q = append(*q, a)
}
func (q *alarmQueue) Pop() any {
	old := *q
	a := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return a
}
