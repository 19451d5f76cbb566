package journal

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"iter"
	"os"
)

// What stands at the end of a sealed line, around the mac in hexadecimal.
const (
	macBegin = `,"mac":"`
	macEnd   = `"}`
	macSize  = len(macBegin) + 2*sha256.Size + len(macEnd)
)

// Chain is where the journal of a cycle stands: what its next line follows. The
// package comment says what a line is sealed with.
type Chain struct {
	cycle string
	seq   int
	key   []byte
	keyed hash.Hash // of the key, made once
	last  []byte    // mac of the line before
}

// NewChain is the chain of a journal that has no line yet. Without a key lines
// are not sealed, and all are taken for proven, as before homes had a key.
func NewChain(key []byte, cycle string) *Chain {
	c := &Chain{cycle: cycle, key: key, keyed: hmac.New(sha256.New, key)}
	c.last = c.mac([]byte("rouse journal " + cycle))
	return c
}

func (c *Chain) mac(body []byte) []byte {
	c.keyed.Reset()
	c.keyed.Write(c.last)
	c.keyed.Write(body)
	return c.keyed.Sum(nil)
}

// seal gives the line with its mac.
func (c *Chain) seal(body []byte) []byte {
	if c.key == nil {
		return body
	}
	line := append(bytes.Clone(body[:len(body)-1]), macBegin...)
	line = hex.AppendEncode(line, c.mac(body))
	return append(line, macEnd...)
}

// goOn makes a line that was sealed the last one.
func (c *Chain) goOn(line []byte) {
	c.seq++
	c.last = macOf(line)
}

// Sealed says whether a line has a mac, of whatever worth.
func Sealed(line []byte) bool { return macOf(line) != nil }

// macOf is the mac that a line claims, or nil.
func macOf(line []byte) []byte {
	if len(line) <= macSize || !bytes.HasSuffix(line, []byte(macEnd)) {
		return nil
	}
	text, ok := bytes.CutPrefix(line[len(line)-macSize:len(line)-len(macEnd)], []byte(macBegin))
	mac, err := hex.AppendDecode(nil, text)
	if !ok || err != nil {
		return nil
	}
	return mac
}

// follow says why a line does not follow the last one; if it does, with "", it is
// the last one from now on.
func (c *Chain) follow(line []byte) string {
	if c.key == nil {
		return ""
	}
	mac := macOf(line)
	if mac == nil {
		return "has no mac"
	}
	body := append(bytes.Clone(line[:len(line)-macSize]), '}')
	if !hmac.Equal(mac, c.mac(body)) {
		return "does not follow: it was forged, changed or moved, or a line before it is missing"
	}
	c.last = mac
	return ""
}

// Line is one line of a journal that was checked.
type Line struct {
	Event
	Number int // in the file, from 1
	// Doubt is why the line is not to be believed, "" where the chain proves it.
	Doubt string
}

// Check is [Read] that says of each line whether the chain, which must be a new
// one, proves it. Read to its end, it leaves the chain where [Resume] goes on.
//
// What follows a line in doubt is proven if it follows the last one that was:
// then nothing of ours is missing between.
func Check(path string, c *Chain) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(Line{}, err)
			return
		}
		defer f.Close()
		b := bufio.NewReader(f)
		for n := 1; ; n++ {
			raw, err := b.ReadBytes('\n')
			if l, ok := c.check(raw, n); ok && !yield(l, nil) || err == io.EOF {
				return
			}
			if err != nil {
				yield(Line{}, fmt.Errorf("read journal: %w", err))
				return
			}
		}
	}
}

func (c *Chain) check(raw []byte, number int) (Line, bool) {
	e, ok := parse(raw)
	if !ok {
		return Line{}, false
	}
	l := Line{e, number, c.follow(bytes.TrimSuffix(raw, []byte("\n")))}
	if l.Doubt == "" {
		c.seq = max(c.seq, e.Seq)
	}
	return l, true
}

// Proven are the events of the lines that are not in doubt.
func Proven(lines iter.Seq2[Line, error]) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for l, err := range lines {
			if (err != nil || l.Doubt == "") && !yield(l.Event, err) {
				return
			}
		}
	}
}

// Slept says whether a journal ends in the event sleep, as the chain's writer
// put it there. It reads no more than it must: what is before the last two lines
// is not checked. The journal of a rouse that knew no key is taken at its word.
func Slept(path string, c *Chain) (bool, error) {
	list, err := tail(path, 2)
	if err != nil || len(list) == 0 || list[0].Event != "sleep" {
		return false, err
	}
	if c.key == nil || Sealed(list[0].Line) {
		return c.ends(list), nil
	}
	first, err := First(path)
	return err == nil && !Sealed(first.Line), err
}

// ends says whether the last lines of a journal, the last one first, end as the
// chain's writer put them there.
func (c *Chain) ends(list []Event) bool {
	if c.key == nil {
		return true
	}
	if len(list) > 1 && Sealed(list[1].Line) { // else it may be the first one that is
		c.last = macOf(list[1].Line)
	}
	return list[0].Cycle == c.cycle && c.follow(list[0].Line) == ""
}

// Ending is the event sleep in which a journal ends, nil unless the chain proves
// it. It reads no more than [Slept].
func Ending(path string, c *Chain) (*Sleep, error) {
	list, err := tail(path, 2)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	s, ok := list[0].Data.(*Sleep)
	if !ok || !c.ends(list) {
		return nil, nil
	}
	return s, nil
}

// First gives the first event of a journal, zero if there is none.
func First(path string) (Event, error) {
	for e, err := range Read(path) {
		return e, err
	}
	return Event{}, nil
}
