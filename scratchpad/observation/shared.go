package observation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"rouse/internal/disk"
)

// SharedPrefix begins the ids of what other homes of a fleet share with this one.
const SharedPrefix = "fleet:"

// sharedFolder is where that lies, in the folder of the store.
const sharedFolder = "fleet"

// Note is what stands beside the content that another home shares, which has the bytes as
// they are.
type Note struct {
	Home    string    `json:"home"` // whose it is
	Tool    string    `json:"tool"`
	Kind    Kind      `json:"kind"`
	MIME    string    `json:"mime,omitempty"`
	Bytes   int64     `json:"bytes"`
	Runes   int64     `json:"characters"`
	Lines   int64     `json:"lines"`
	SHA256  string    `json:"sha256"`
	Origins []string  `json:"origins,omitempty"` // that it had there
	Made    time.Time `json:"made"`
	Expires time.Time `json:"expires"`
}

// Shared is what other homes share with this one. It is only read here.
type Shared struct {
	Dir string           // of the store; "" has none
	Now func() time.Time // time.Now

	mu   sync.Mutex
	read map[string]indexed // by id
}

// indexed is a content without its file, which was read to its end.
type indexed struct {
	Content
	info os.FileInfo
}

// Get gives a content whose bytes are what its note says. One that is not shared with this
// home, or not any more, is [ErrNotFound], as any id is that nobody knows.
func (s *Shared) Get(id string) (*Content, error) {
	e, path, err := s.entry(id)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read observation %s: %w", id, err)
	}
	c, err := s.index(e, f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("read observation %s: %w", id, err)
	}
	return c, nil
}

// List are those that have not expired.
func (s *Shared) List() (list []Entry) {
	notes, _ := filepath.Glob(filepath.Join(s.Dir, sharedFolder, "*.json"))
	for _, path := range notes {
		if e, _, err := s.entry(SharedPrefix + strings.TrimSuffix(filepath.Base(path), ".json")); err == nil {
			list = append(list, e)
		}
	}
	return list
}

// errShared is said of what is not what was shared.
var errShared = errors.New("it is damaged: remove its file in scratchpad/fleet, and the next wake in the fleet lays it anew")

// entry reads the note of an id.
func (s *Shared) entry(id string) (e Entry, path string, err error) {
	name, ok := strings.CutPrefix(id, SharedPrefix)
	if !ok || s.Dir == "" || !NamesShared(id) || len(name) != idLength {
		return e, "", ErrNotFound
	}
	path = filepath.Join(s.Dir, sharedFolder, name)
	data, err := disk.ReadSmall(path+".json", chunkSize)
	if errors.Is(err, fs.ErrNotExist) {
		return e, "", ErrNotFound
	}
	var n Note
	if err != nil || json.Unmarshal(data, &n) != nil || n.Home == "" || n.Bytes < 0 {
		return e, "", fmt.Errorf("read observation %s: %w", id, errShared)
	}
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	if !now().Before(n.Expires) {
		return e, "", ErrNotFound
	}
	return Entry{
		ID: id, Executor: n.Tool, Kind: n.Kind, MIME: n.MIME, Bytes: n.Bytes, Runes: n.Runes, Lines: n.Lines, SHA256: n.SHA256,
		Created: n.Made, Expires: n.Expires, Stored: n.Bytes, From: append(n.Origins, "fleet "+n.Home), valid: n.Kind != Binary, codec: Raw,
	}, path, nil
}

// index reads a file once to its end: whether it is what was shared, and where its chunks begin.
func (s *Shared) index(e Entry, f *os.File) (*Content, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if had, ok := s.read[e.ID]; ok && os.SameFile(had.info, info) && had.info.ModTime().Equal(info.ModTime()) && had.SHA256 == e.SHA256 {
		c := had.Content
		c.file = f
		return &c, nil
	}
	c := Content{Entry: e, held: -1}
	if info.Size() != e.Bytes {
		return nil, errShared
	}
	if err := c.scan(f); err != nil {
		return nil, err
	}
	if s.read == nil {
		s.read = map[string]indexed{}
	}
	s.read[e.ID] = indexed{c, info}
	c.file = f
	return &c, nil
}

// scan cuts a content into chunks, in constant memory but for what it keeps of each.
func (c *Content) scan(r io.Reader) error {
	c.page = make([]chunk, 0, c.Entry.Bytes/chunkSize+1)
	at, sum, last, room := place{}, sha256.New(), byte('\n'), make([]byte, blockSize)
	for held, final := 0, false; !final; {
		n, err := io.ReadFull(r, room[held:])
		if final = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF); err != nil && !final {
			return err
		}
		sum.Write(room[held:][:n])
		rest := room[:held+n]
		for len(rest) >= chunkSize || final && len(rest) > 0 {
			k := cut(rest, final)
			part := measure(rest[:k])
			part.stored, last = k, rest[k-1]
			c.page = append(c.page, chunk{at, part})
			at.advance(part)
			rest = rest[k:]
		}
		held = copy(room, rest)
	}
	if at.byte != c.Entry.Bytes || hex.EncodeToString(sum.Sum(nil)) != c.SHA256 {
		return errShared
	}
	if c.Runes, c.Entry.Lines = at.rune, at.line; last != '\n' {
		c.Entry.Lines++
	}
	return nil
}

// idLength is that of an id.
const idLength = 16

// NamesShared says whether a text has the id of something shared in it.
func NamesShared(text string) bool {
	for {
		_, rest, ok := strings.Cut(text, SharedPrefix)
		if !ok {
			return false
		}
		n := 0
		for n < len(rest) && n < idLength && strings.IndexByte("0123456789abcdef", rest[n]) >= 0 {
			n++
		}
		if n == idLength {
			return true
		}
		text = rest
	}
}
