package observation

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"rouse/internal/disk"
)

// Origin says what an observation is of.
type Origin struct {
	Step     int
	Executor string // name of the tool
}

// Writer takes one content as it comes, of any size, in constant memory. It must
// be ended by [Writer.Commit] or [Writer.Abort], and is for one goroutine.
//
// A block that is full is hashed, summed up and compressed by stages beside each
// other, and meanwhile the next one fills. Only the writer's own goroutine
// touches the file. A content of less than a block needs no other.
type Writer struct {
	s      *Store
	turn   *Turn
	origin Origin
	digest *digest
	id     string
	ended  bool

	block           *block   // that fills
	flight          []*block // that are worked on, the oldest first
	hash, sum, code stage

	index index
	small bool      // all of it goes into a row
	file  disk.File // nil before the first block
	name  string
	pack  *packer // nil for raw
	err   error   // of the file: nothing more is written
}

// Create begins an observation. Nothing is written before it is large.
func (t *Turn) Create(o Origin) *Writer {
	w := &Writer{s: t.s, turn: t, origin: o, digest: newDigest(t.s.opt), id: newID(), block: &block{}}
	w.hash = stage{hands: 1, do: func(b *block) { w.digest.hash(b.whole()) }}
	w.sum = stage{hands: 1, do: w.digest.sumUp}
	w.code = stage{hands: encoders, do: w.encode}
	return w
}

// Write never fails: what goes wrong with the file is told by [Writer.Commit],
// and meanwhile the content is still summed up.
func (w *Writer) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		b := w.block
		k := min(len(p), blockSize-len(b.data))
		b.data = append(b.data, p[:k]...)
		p = p[k:]
		if len(b.data) == blockSize {
			w.flush()
		}
	}
	return n, nil
}

// flush starts the work on the block, and keeps what follows its last chunk.
func (w *Writer) flush() {
	full := w.block
	full.split(false)
	w.start(full)
	next := &block{}
	if len(w.flight) > inFlight {
		next = w.land()
	}
	next.data = append(next.data[:0], full.data[len(full.whole()):]...)
	w.block = next
}

// start hands a block to the stages, and writes it if it needs no compression.
func (w *Writer) start(b *block) {
	if w.err == nil {
		w.err = w.openFile()
	}
	w.hash.add(b)
	w.sum.add(b)
	switch {
	case w.err != nil:
	case w.pack != nil:
		w.code.add(b)
	default:
		w.err = w.append(b.whole())
	}
	w.flight = append(w.flight, b)
}

// land ends the work on the oldest block, whose room is free then.
func (w *Writer) land() *block {
	b := w.flight[0]
	w.flight = slices.Delete(w.flight, 0, 1)
	b.work.Wait()
	stored := 0
	for i, s := range b.sizes {
		if s.stored = s.bytes; len(b.coded) > 0 {
			s.stored, stored = b.coded[i]-stored, b.coded[i]
		}
		w.index.add(s)
	}
	if w.err == nil {
		w.err = w.append(b.out)
	}
	if w.err == nil && w.index.end.offset > w.s.opt.MaxBytes {
		w.err = w.s.errFull()
	}
	return b
}

// finish works on all that is left.
func (w *Writer) finish() {
	b := w.block
	b.split(true)
	w.small = w.index.n == 0 && len(w.flight) == 0 && len(b.data) <= chunkSize
	if w.small {
		w.hash.do(b)
		w.sum.do(b)
		w.flight = append(w.flight, b)
	} else {
		w.start(b)
	}
	for len(w.flight) > 0 {
		w.land()
	}
}

// encode compresses the chunks of a block, each behind its filter.
func (w *Writer) encode(b *block) {
	for p := range b.chunks {
		b.frame = w.pack.frame(p, b.frame[:0])
		b.out = append(appendFilter(b.out, p, len(b.frame)), b.frame...)
		b.coded = append(b.coded, len(b.out))
	}
}

func (w *Writer) openFile() error {
	if w.file != nil {
		return nil
	}
	codec := w.s.opt.Codec
	if codec == Zstd {
		pack, err := newPacker()
		if err != nil {
			return err
		}
		w.pack = pack
	}
	w.name = strconv.FormatInt(w.turn.n, 10) + "-" + w.id + map[Codec]string{Zstd: ".zst", Raw: ".raw"}[codec]
	f, err := w.s.opt.FS.OpenFile(filepath.Join(w.s.dir, contents, w.name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	w.file = f
	return err
}

func (w *Writer) append(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	_, err := w.file.Write(p)
	return err
}

// Commit ends the observation and makes it readable, all of it and durably.
// metadata, a JSON object or nil, is kept with it. On an error nothing is
// stored, and the entry, but for its ID, still says what the content was.
func (w *Writer) Commit(metadata json.RawMessage) (Entry, error) {
	if w.ended {
		return Entry{}, errors.New("store observation: it has ended")
	}
	w.ended = true
	w.finish()
	e := w.digest.entry()
	e.ID, e.Turn, e.Step, e.Executor, e.Metadata = w.id, w.turn.id, w.origin.Step, w.origin.Executor, metadata
	e.Created, e.file, e.codec = w.s.opt.Now(), w.name, w.s.opt.Codec
	err := w.seal()
	if err == nil {
		err = w.insert(&e)
	}
	if err != nil {
		e.ID = ""
		w.discard(err)
		return e, fmt.Errorf("store observation: %w", w.s.explain(err))
	}
	return e, nil
}

// seal makes the file durable.
func (w *Writer) seal() error {
	if w.file == nil || w.err != nil {
		return w.err
	}
	f := w.file
	w.file = nil
	if err := cmp.Or(f.Sync(), f.Close()); err != nil {
		return err
	}
	return w.s.opt.FS.SyncDir(filepath.Join(w.s.dir, contents))
}

// insert makes the entry, and room for it.
func (w *Writer) insert(e *Entry) error {
	content := []byte(nil)
	e.Stored = w.index.end.offset
	if w.small {
		content = w.block.data
	}
	var files []string
	err := w.s.change(func(tx *sql.Tx) (err error) {
		if files, err = w.s.makeRoom(tx, e.Stored); err != nil {
			return err
		}
		if err := e.insert(tx, content); err != nil {
			return err
		}
		if w.small {
			return nil
		}
		return w.index.insert(tx, e.n)
	})
	if err != nil {
		return err
	}
	for _, name := range files {
		if err := w.s.unlink(name); err != nil {
			w.s.say("observation store, error=%v", err)
		}
	}
	return nil
}

func (e *Entry) insert(tx *sql.Tx, content []byte) error {
	r, err := tx.Exec(`INSERT INTO entries (id, turn_id, step_num, executor_name, content_kind, mime, size_bytes, runes,
		lines, sha256, valid, summary, facts, metadata, created_at, stored_bytes, codec, file, content)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.ID, e.Turn, e.Step, e.Executor, e.Kind, e.MIME, e.Bytes, e.Runes, e.Lines, e.SHA256, e.valid, e.Summary, e.Facts,
		string(e.Metadata), e.Created.UnixMilli(), e.Stored, e.codec, e.file, content)
	if err != nil {
		return err
	}
	e.n, err = r.LastInsertId()
	return err
}

func (x *index) insert(tx *sql.Tx, entry int64) error {
	for _, p := range x.pages {
		_, err := tx.Exec(`INSERT INTO chunks (entry, k, byte, rune, line, offset, sizes) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			entry, p.k, p.byte, p.rune, p.line, p.offset, p.sizes)
		if err != nil {
			return err
		}
	}
	return nil
}

// Abort drops the observation; after Commit it does nothing.
func (w *Writer) Abort() {
	if w.ended {
		return
	}
	w.ended = true
	for _, b := range w.flight {
		b.work.Wait()
	}
	w.discard(nil)
}

// discard removes the file, unless a commit failed in such a way that its entry
// may be there.
func (w *Writer) discard(cause error) {
	if w.file != nil {
		w.file.Close()
		w.file = nil
	}
	if w.name == "" || errors.As(cause, new(errCommit)) && !w.isAbsent() {
		return
	}
	if err := w.s.unlink(w.name); err != nil {
		w.s.say("observation store, error=%v", err)
	}
}

// isAbsent says whether the entry is certainly not there.
func (w *Writer) isAbsent() bool {
	var there bool
	err := w.s.db.QueryRow(`SELECT EXISTS (SELECT 1 FROM entries WHERE id = ?)`, w.id).Scan(&there)
	return err == nil && !there
}

// errFull is the error of a store, not a disk, that is full.
func (s *Store) errFull() error {
	return fmt.Errorf("it would hold more than its limit of %d bytes, of cycles that still run", s.opt.MaxBytes)
}
