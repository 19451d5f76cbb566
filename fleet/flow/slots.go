package flow

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/worker"
)

// slots are how many homes may be awake on a worker, whatever queues their visits come from.
// Each queue is polled while fewer than that are awake; of polls that are out already some may
// bring one too many, which goes back: [errFull].
type slots struct {
	max     int
	held    *atomic.Bool // none is given for now
	mu      sync.Mutex
	used    int
	out     map[string]int // polls by queue
	changed chan struct{}  // closed when there may be room
}

func newSlots(n int, held *atomic.Bool) *slots {
	return &slots{max: n, held: held, out: map[string]int{}, changed: make(chan struct{})}
}

// slot is what a permit is for.
type slot struct {
	queue string
	used  bool
}

// ReserveSlot waits for room.
func (s *slots) ReserveSlot(ctx context.Context, info worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if p := s.TryReserveSlot(info); p != nil {
			return p, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-changed:
		case <-time.After(time.Second): // it may be held no more
		}
	}
}

// TryReserveSlot gives nil where there is no room.
func (s *slots) TryReserveSlot(info worker.SlotReservationInfo) *worker.SlotPermit {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue := info.TaskQueue()
	if s.held.Load() || s.used+s.out[queue] >= s.max {
		return nil
	}
	s.out[queue]++
	return &worker.SlotPermit{UserData: &slot{queue: queue}}
}

// MarkSlotUsed says that a poll brought a visit.
func (s *slots) MarkSlotUsed(info worker.SlotMarkUsedInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := info.Permit().UserData.(*slot)
	p.used = true
	s.out[p.queue]--
	s.used++
}

// ReleaseSlot says that a poll brought none, or that the visit is over.
func (s *slots) ReleaseSlot(info worker.SlotReleaseInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := info.Permit().UserData.(*slot); p.used {
		s.used--
	} else {
		s.out[p.queue]--
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// MaxSlots says nothing, as no queue has a number of its own.
func (s *slots) MaxSlots() int { return 0 }
