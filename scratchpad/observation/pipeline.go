package observation

import (
	"slices"
	"sync"
)

// inFlight is how many blocks are worked on at most, beside the one that fills.
const inFlight = 6

// block is some chunks on their way into the store.
type block struct {
	data  []byte
	ends  []int          // of the chunks in data; what follows the last belongs to the next block
	work  sync.WaitGroup // of the stages
	sizes []size         // of the chunks, when the stages have worked
	out   []byte         // the chunks, compressed
	coded []int          // ends of the chunks in out; none if nothing was compressed
	frame []byte         // the last chunk, compressed
}

// split finds the chunks; the content ends with the block if final.
func (b *block) split(final bool) {
	b.ends, b.sizes, b.out, b.coded = b.ends[:0], b.sizes[:0], b.out[:0], b.coded[:0]
	end := 0
	for len(b.data)-end >= chunkSize || final && end < len(b.data) {
		end += cut(b.data[end:], final)
		b.ends = append(b.ends, end)
	}
}

// whole is all of the chunks.
func (b *block) whole() []byte {
	if len(b.ends) == 0 {
		return nil
	}
	return b.data[:b.ends[len(b.ends)-1]]
}

// chunks yields each chunk.
func (b *block) chunks(yield func(p []byte) bool) {
	start := 0
	for _, end := range b.ends {
		if !yield(b.data[start:end]) {
			return
		}
		start = end
	}
}

// stage does one thing with each block, in their order if it has one hand. Its
// goroutines live only while there are blocks, so that none is left behind, not
// even by a writer that is never ended.
type stage struct {
	do    func(*block)
	hands int // goroutines at most

	mu    sync.Mutex
	queue []*block
	busy  int
}

// add begins the work on a block, which is counted in its WaitGroup.
func (s *stage) add(b *block) {
	b.work.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, b)
	if s.busy < s.hands {
		s.busy++
		go s.run()
	}
}

func (s *stage) run() {
	for b := s.next(); b != nil; b = s.next() {
		s.do(b)
		b.work.Done()
	}
}

// next is the block to go on with; nil ends the goroutine.
func (s *stage) next() *block {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.busy--
		return nil
	}
	b := s.queue[0]
	s.queue = slices.Delete(s.queue, 0, 1)
	return b
}
