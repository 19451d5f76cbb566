package observation

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sort"
	"sync"
)

// Query is what to look for, and how much of it to show.
type Query struct {
	Pattern    string // in RE2's syntax, matched against each line by itself
	IgnoreCase bool
	Context    int   // lines shown before and after a match
	From       int64 // number of the first line whose match is shown; all are counted
	MaxMatches int   // shown; 0 for 50
	LineChars  int   // shown of one line; 0 for 500
	MaxBytes   int   // of the lines shown; 0 for 64 KiB
	// Partial counts only from From on, and only until enough is found: what a
	// reader of all matches asks for, page by page.
	Partial bool
}

// Line is one line that was found, or stands beside one.
type Line struct {
	Number int64  `json:"line"`      // from 1
	Char   int64  `json:"character"` // number of the character with which Text begins
	Text   string `json:"text"`      // without its newline
	Match  bool   `json:"match"`
	Cut    bool   `json:"cut,omitempty"` // Text is a part of the line, about the match
}

// Found is the answer to a query.
type Found struct {
	Lines   []Line
	Matches int64 // lines that match, in the whole content
	Shown   int   // of these
	Next    int64 // From of a query for what follows; 0 if nothing does
}

// Sizes of the work of a grep: what one worker takes at once, which is more if it
// is only mapped, and the length of a line that is matched as it passes.
const (
	itemSize   = 512 << 10
	mappedSize = 2 << 20
	longLine   = 1 << 20
)

// Grep finds the lines that match, in bounded memory whatever their length. It
// fails if ctx is over before all is found.
func (c *Content) Grep(ctx context.Context, q Query) (Found, error) {
	q.MaxMatches = cmp.Or(max(q.MaxMatches, 0), 50)
	q.LineChars = cmp.Or(max(q.LineChars, 0), 500)
	q.MaxBytes = cmp.Or(max(q.MaxBytes, 0), 64<<10)
	q.Context = min(max(q.Context, 0), 1000)
	p, err := compile(q.Pattern, q.IgnoreCase)
	if err != nil {
		return Found{}, fmt.Errorf("search observation %s: %w", c.ID, err)
	}
	g := &search{c: c, p: p, q: q, mapped: c.file != nil && c.codec == Raw && len(p.literals) > 0}
	err = g.sample()
	if err == nil {
		err = g.run(ctx)
	}
	if err != nil {
		return Found{}, fmt.Errorf("search observation %s: %w", c.ID, err)
	}
	return g.show()
}

// search is a grep that goes on. Workers take items in any order; what they find
// is put in order as it comes.
type search struct {
	c      *Content
	p      *pattern
	q      Query
	mapped bool // the file need not be copied: RE2 would copy it anyway

	mu    sync.Mutex
	count int64
	hits  []hit // the first MaxMatches+1 from the line From on
	err   error
}

// hit is a line that matches.
type hit struct {
	line  int64 // from 0
	match int64 // byte of the content where the match is, if the line is long; else -1
}

// item is some chunks that are whole lines together, all but the last of them
// parts of the first line if that is long.
type item struct {
	chunks []chunk
	long   bool
}

func (g *search) run(ctx context.Context) error {
	dealing, cancel := context.WithCancel(ctx)
	defer cancel()
	size := itemSize
	if g.mapped {
		size = mappedSize
	}
	items := make(chan item, 16) // room, so that no worker waits for the dealer to be woken
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 4, 1+int(g.c.Entry.Bytes/int64(size))) {
		workers.Go(func() {
			var data, coded []byte
			for it := range items {
				if err := g.work(it, &data, &coded); err != nil {
					g.fail(err)
					cancel()
				}
			}
		})
	}
	err := g.deal(dealing, size, items)
	close(items)
	workers.Wait()
	return cmp.Or(g.err, err, context.Cause(ctx))
}

// sample looks at a few chunks for how often bytes come.
func (g *search) sample() error {
	if len(g.p.literals) == 0 || g.c.file == nil {
		return nil
	}
	var sample []byte
	for i := range int64(4) {
		k, err := g.c.find(Bytes, g.c.Entry.Bytes/4*i)
		if err != nil {
			return err
		}
		_, data, _, err := g.c.load(k)
		if err != nil {
			return err
		}
		sample = append(sample, data[:min(len(data), 16<<10)]...)
	}
	learn(g.p.literals, sample)
	return nil
}

func (g *search) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = cmp.Or(g.err, err)
}

// deal hands out the content in items of about most bytes.
func (g *search) deal(ctx context.Context, most int, items chan<- item) error {
	var it item
	var bytes int
	send := func() error {
		if len(it.chunks) == 0 {
			return nil
		}
		select {
		case items <- it:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		it, bytes = item{}, 0
		return nil
	}
	var part []chunk // of a line that has not ended
	size := 0
	k, err := g.first()
	for ; err == nil; k++ {
		ch, ok, err := g.c.chunk(k)
		if err != nil {
			return err
		}
		if ok {
			part, size = append(part, ch), size+ch.bytes
			if ch.lines == 0 {
				continue
			}
		}
		if size > longLine || bytes+size > most {
			if err := send(); err != nil {
				return err
			}
		}
		it.chunks, bytes = append(it.chunks, part...), bytes+size
		it.long = size > longLine
		if it.long || !ok {
			if err := send(); err != nil {
				return err
			}
		}
		if !ok {
			return nil
		}
		if g.q.Partial && !g.wants(ch.line) {
			return nil
		}
		part, size = nil, 0
	}
	return err
}

// first is the chunk with which to begin.
func (g *search) first() (int, error) {
	if !g.q.Partial || g.q.From < 2 {
		return 0, nil
	}
	return g.c.find(Lines, min(g.q.From, g.c.Entry.Lines)-1)
}

// work searches one item.
func (g *search) work(it item, data, coded *[]byte) (err error) {
	switch {
	case it.long:
		if err := g.workLong(it.chunks); err != nil {
			return err
		}
		it.chunks = it.chunks[len(it.chunks)-1:]
	case len(g.p.required) > 0 && g.c.file != nil && g.c.codec == Zstd:
		return g.workFiltered(it.chunks, data, coded)
	}
	all := together(it.chunks)
	if g.mapped {
		return view(g.c.file, all.offset, all.bytes, func(b []byte) { g.searchItem(b, all.line, it.long) })
	}
	if *data, err = g.c.read(all, (*data)[:0], coded); err == nil {
		g.searchItem(*data, all.line, it.long)
	}
	return err
}

// searchItem searches bytes of which the first line has a number, or is the end
// of a long line that was searched.
func (g *search) searchItem(b []byte, line int64, long bool) {
	if long {
		end := lineEnd(b, 0)
		b, line = b[min(end+1, len(b)):], line+1
	}
	g.searchLines(b, line)
}

// workFiltered searches compressed chunks that are whole lines together, but for
// those that cannot match.
func (g *search) workFiltered(chunks []chunk, data, coded *[]byte) error {
	if err := g.c.fetch(together(chunks), coded); err != nil {
		return err
	}
	for stored := *coded; len(chunks) > 0; {
		n := g.p.candidates(chunks, stored)
		all := together(chunks[:max(n, 1)])
		if n > 0 {
			var err error
			if *data, err = g.c.decode(all, stored[:all.stored], (*data)[:0]); err != nil {
				return err
			}
			g.searchLines(*data, all.line)
		}
		chunks, stored = chunks[max(n, 1):], stored[all.stored:]
	}
	return nil
}

// candidates is how many chunks, the first of which begins a line, to search
// until one that cannot match; 0 if the first cannot. A chunk that is a part of a
// line is never left out, since a match may go on in the next.
func (p *pattern) candidates(chunks []chunk, stored []byte) int {
	for i, ch := range chunks {
		whole := ch.lines > 0 && (i == 0 || chunks[i-1].lines > 0)
		if whole && !p.mayMatch(stored[:ch.stored]) {
			return i
		}
		stored = stored[ch.stored:]
	}
	return len(chunks)
}

// together is chunks that follow each other as one: frames that stand one after
// another are decoded as one.
func together(list []chunk) chunk {
	all := list[0]
	for _, ch := range list[1:] {
		all.stored, all.bytes = all.stored+ch.stored, all.bytes+ch.bytes
	}
	return all
}

// searchLines searches whole lines, the first of which has a number.
func (g *search) searchLines(b []byte, line int64) {
	var count int64
	var hits []hit
	wanted := g.wants(line)
	if g.q.Partial && !wanted {
		return
	}
	counted := 0
	g.p.lines(b, g.c.valid, func(start, end int) {
		count++
		if !wanted || len(hits) > g.q.MaxMatches {
			return
		}
		line += int64(bytes.Count(b[counted:start], []byte{'\n'}))
		counted = start
		if line+1 >= g.q.From {
			hits = append(hits, hit{line, -1})
		}
	})
	g.add(count, hits)
}

// wants says whether matches from a line on may be shown.
func (g *search) wants(line int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.hits) <= g.q.MaxMatches || line < g.hits[len(g.hits)-1].line
}

func (g *search) add(count int64, hits []hit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count += count
	if len(hits) == 0 {
		return
	}
	g.hits = append(g.hits, hits...)
	sort.Slice(g.hits, func(i, j int) bool { return g.hits[i].line < g.hits[j].line })
	g.hits = g.hits[:min(len(g.hits), g.q.MaxMatches+1)]
}

// workLong searches the first line of some chunks as it passes.
func (g *search) workLong(chunks []chunk) error {
	at, err := g.p.inStream(func() *lineReader { return &lineReader{c: g.c, chunks: chunks} })
	if err != nil || at < 0 {
		return err
	}
	line := chunks[0].line
	var hits []hit
	if line+1 >= g.q.From {
		hits = []hit{{line, chunks[0].byte + at}}
	}
	g.add(1, hits)
	return nil
}

// show reads the lines to show.
func (g *search) show() (Found, error) {
	f := Found{Matches: g.count}
	next := int64(0) // the first line not shown
	size := 0
	for i, h := range g.hits {
		group, err := g.around(i, next)
		if err != nil {
			return f, err
		}
		for _, l := range group {
			size += len(l.Text)
		}
		if i == g.q.MaxMatches || i > 0 && size > g.q.MaxBytes {
			f.Next = h.line + 1
			break
		}
		f.Lines = append(f.Lines, group...)
		f.Shown++
		next = group[len(group)-1].Number
	}
	return f, nil
}

// around gives the line of a hit, those before it from next on, and those after
// it up to the next hit.
func (g *search) around(i int, next int64) ([]Line, error) {
	h := g.hits[i]
	last := min(h.line+int64(g.q.Context), g.c.Entry.Lines-1)
	if i+1 < len(g.hits) {
		last = min(last, g.hits[i+1].line-1)
	}
	var list []Line
	for n := max(h.line-int64(g.q.Context), next); n <= last; n++ {
		l, err := g.line(n, h)
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}

// line reads line n, the part of it about the match if it is the hit's.
func (g *search) line(n int64, h hit) (Line, error) {
	limit := 4*g.q.LineChars + 2
	var p Part
	var err error
	var at int // of the match in the part
	switch {
	case n != h.line:
		p, err = g.c.Slice(Lines, n+1, n+2, limit)
	case h.match >= 0:
		from := max(0, h.match-int64(g.q.LineChars))
		p, err = g.longPart(n, from, h.match+int64(limit))
		at = int(h.match - p.Start)
	default:
		if p, err = g.c.Slice(Lines, n+1, n+2, longLine+1); err == nil {
			if m := g.p.re.FindIndex(bare(bytes.TrimSuffix(p.Data, []byte{'\n'}))); m != nil {
				at = m[0]
			}
		}
	}
	if err != nil {
		return Line{}, err
	}
	l := Line{Number: n + 1, Char: p.Char, Match: n == h.line, Cut: p.Cut}
	l.window(p.Data, at, g.q.LineChars)
	return l, nil
}

// longPart gives bytes of the long line n between two places, which are brought
// inside it.
func (g *search) longPart(n, from, to int64) (Part, error) {
	var char int64
	k, skip, err := g.c.seek(Lines, n, &char)
	if err != nil {
		return Part{}, err
	}
	ch, _, err := g.c.chunk(k)
	if err != nil {
		return Part{}, err
	}
	start := ch.byte + int64(skip)
	p, err := g.c.Slice(Bytes, max(from, start), to, int(to-from)+1)
	p.Cut = true
	return p, err
}
