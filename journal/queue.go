package journal

import (
	"sync"
	"time"
)

// linger is how long the end of a cycle waits for a screen, or a reader of our
// output, that has stopped.
const linger = 2 * time.Second

// Queue hands events to show in order, from a goroutine of its own, so that a
// reader who stops reading, or a terminal that is halted with Ctrl-S, holds no
// cycle up. It holds what one cycle says at most.
type Queue struct {
	show func(Event)
	done chan struct{}

	mu     sync.Mutex
	filled *sync.Cond
	events []Event
	closed bool
}

// NewQueue begins to show events.
func NewQueue(show func(Event)) *Queue {
	q := &Queue{show: show, done: make(chan struct{})}
	q.filled = sync.NewCond(&q.mu)
	go q.run()
	return q
}

// Put never waits.
func (q *Queue) Put(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.events = append(q.events, e)
	q.filled.Signal()
}

func (q *Queue) run() {
	defer close(q.done)
	for {
		events, closed := q.take()
		for _, e := range events {
			q.show(e)
		}
		if closed {
			return
		}
	}
}

// take waits for events, or for the end.
func (q *Queue) take() (events []Event, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.events) == 0 && !q.closed {
		q.filled.Wait()
	}
	events, q.events = q.events, nil
	return events, q.closed
}

// Close waits until everything is shown, for a while, and says whether it was.
func (q *Queue) Close() bool {
	q.mu.Lock()
	q.closed = true
	q.filled.Signal()
	q.mu.Unlock()
	select {
	case <-q.done:
		return true
	case <-time.After(linger):
		return false
	}
}
