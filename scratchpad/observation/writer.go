package observation

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"rouse/internal/disk"
)

// Origin says what an observation is of.
type Origin struct {
	Step     int
	Executor string // name of the tool
}

// Writer takes one content as it comes, of any size, in constant memory. It must
// be ended by [Writer.Commit] or [Writer.Abort], and is for one goroutine.
type Writer struct {
	s      *Store
	turn   *Turn
	origin Origin
	digest *digest
	id     string

	buf, spare []byte         // what is not yet cut; the block before it
	work       sync.WaitGroup // on the block before
	ended      bool

	// What follows belongs to the work on a block.
	index   index
	small   bool      // all of it goes into a row
	file    disk.File // nil before the first block
	name    string
	encoder *zstd.Encoder
	out     [][]byte // the chunks of a block, compressed
	joined  []byte   // the same in one
	err     error    // of the file: nothing more is written
}

// Create begins an observation. Nothing is written before it is large.
func (t *Turn) Create(o Origin) *Writer {
	return &Writer{s: t.s, turn: t, origin: o, digest: newDigest(t.s.opt), id: newID()}
}

// Write never fails: what goes wrong with the file is told by [Writer.Commit],
// and meanwhile the content is still summed up.
func (w *Writer) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		k := min(len(p), blockSize-len(w.buf))
		w.buf = append(w.buf, p[:k]...)
		p = p[k:]
		if len(w.buf) == blockSize {
			w.flush()
		}
	}
	return n, nil
}

// flush starts the work on the chunks in buf, and keeps what follows the last of
// them.
func (w *Writer) flush() {
	var ends []int
	end := 0
	for len(w.buf)-end >= chunkSize {
		end += cut(w.buf[end:], false)
		ends = append(ends, end)
	}
	w.work.Wait()
	block := w.buf[:end]
	w.buf, w.spare = append(w.spare[:0], w.buf[end:]...), w.buf
	w.work.Go(func() { w.process(block, ends) })
}

// finish works on all that is left.
func (w *Writer) finish() {
	w.work.Wait()
	w.small = w.index.n == 0 && len(w.buf) <= chunkSize
	var ends []int
	for end := 0; end < len(w.buf); {
		end += cut(w.buf[end:], true)
		ends = append(ends, end)
	}
	w.process(w.buf, ends)
}

// process sums up one block and writes it; ends are those of its chunks.
func (w *Writer) process(block []byte, ends []int) {
	sizes := make([]size, len(ends))
	write := w.err == nil && !w.small
	if write {
		w.err = w.openFile()
		write = w.err == nil
	}
	w.out = append(w.out, make([][]byte, max(0, len(ends)-len(w.out)))...)
	var next atomic.Int64
	encode := func() {
		for i := int(next.Add(1)) - 1; i < len(ends); i = int(next.Add(1)) - 1 {
			sizes[i] = w.encode(block[starts(ends, i):ends[i]], i, write)
		}
	}
	var jobs sync.WaitGroup
	jobs.Go(func() { w.digest.hash(block) })
	jobs.Go(func() { w.digest.add(block) })
	jobs.Go(encode)
	if write && w.encoder == nil {
		w.err = w.append(block)
	}
	encode()
	jobs.Wait()
	w.joined = w.joined[:0]
	for i, s := range sizes {
		w.index.add(s)
		w.digest.count(s)
		w.joined = append(w.joined, w.out[i]...)
	}
	if write && w.encoder != nil {
		w.err = w.append(w.joined)
	}
	if w.err == nil && w.index.end.offset > w.s.opt.MaxBytes {
		w.err = w.s.errFull()
	}
}

// starts is where chunk i begins, by where chunks end.
func starts(ends []int, i int) int {
	if i == 0 {
		return 0
	}
	return ends[i-1]
}

// encode measures chunk i of a block, and compresses it if it is to be written.
func (w *Writer) encode(p []byte, i int, write bool) size {
	s := measure(p)
	s.stored = len(p)
	if write && w.encoder != nil {
		w.out[i] = w.encoder.EncodeAll(p, w.out[i][:0])
		s.stored = len(w.out[i])
	}
	return s
}

func (w *Writer) openFile() error {
	if w.file != nil {
		return nil
	}
	codec := w.s.opt.Codec
	if codec == Zstd {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2),
			zstd.WithWindowSize(chunkSize), zstd.WithEncoderCRC(true))
		if err != nil {
			return err
		}
		w.encoder = e
	}
	w.name = strconv.FormatInt(w.turn.n, 10) + "-" + w.id + map[Codec]string{Zstd: ".zst", Raw: ".raw"}[codec]
	f, err := w.s.opt.FS.OpenFile(w.path(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	w.file = f
	return err
}

func (w *Writer) path() string { return filepath.Join(w.s.dir, contents, w.name) }

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
	if err := f.Sync(); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return w.s.opt.FS.SyncDir(filepath.Join(w.s.dir, contents))
}

// insert makes the entry, and room for it.
func (w *Writer) insert(e *Entry) error {
	content := []byte(nil)
	e.Stored = w.index.end.offset
	if w.small {
		content = w.buf
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
			w.s.opt.Log.Warn("observation store", "error", err)
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
	w.work.Wait()
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
		w.s.opt.Log.Warn("observation store", "error", err)
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
