package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"rouse/agent/history"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/erase"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/scratchpad/observation"
)

// Forgotten says where a value stood, never the value.
type Forgotten struct {
	Places []Place `json:"places"`
	// Kept are files that a person wrote, and names of files, which have it and keep it.
	Kept []string `json:"kept"`
	// Unread is what could not be looked into.
	Unread []string `json:"unread"`
	// Done says that it is taken out.
	Done bool `json:"done"`

	begun bool // it was to be taken out earlier, and that was interrupted
}

// Place is where a value stood, how often and in how many files.
type Place struct {
	Place string `json:"place"`
	Files int    `json:"files"` // 0 of a store
	Hits  int    `json:"hits"`
}

// Nothing says that the value is nowhere.
func (f Forgotten) Nothing() bool { return len(f.Places) == 0 && !f.begun }

func (f *Forgotten) add(place string, files, hits int) {
	if hits == 0 {
		return
	}
	i := slices.IndexFunc(f.Places, func(p Place) bool { return p.Place == place })
	if i < 0 {
		i, f.Places = len(f.Places), append(f.Places, Place{Place: place})
	}
	f.Places[i].Files += files
	f.Places[i].Hits += hits
}

// lockTime bounds the wait for those who write ledgers.
const lockTime = 10 * time.Second

// Forget takes a value out of the home, or only says where it stands. The journals that
// change are sealed anew and say so. Killed at any moment it leaves each file old or
// new; done again with the same value it does the rest. It fails with [home.ErrAwake]
// while a cycle is awake.
func (k *Keeper) Forget(ctx context.Context, value string, do bool) (f Forgotten, err error) {
	e, err := erase.New(value)
	if err != nil {
		return f, err
	}
	if do {
		if err := k.Home.MakeFolders(k.disk()); err != nil {
			return f, err
		}
	}
	unlock, err := k.Home.Lock()
	if err != nil {
		return f, err
	}
	defer unlock()
	if do {
		if _, err := k.settle(); err != nil && !errors.As(err, new(*Conflict)) {
			return f, err
		}
	}
	g := forgetting{Keeper: k, e: e, sums: erase.Sums{}}
	if g.key, err = k.Home.Key(); err != nil {
		return f, err
	}
	if f, err = g.look(ctx); err != nil || !do || f.Nothing() {
		return f, err
	}
	if err := g.forget(ctx); err != nil {
		return f, fmt.Errorf("forget: %w; what is done is done: run it again", k.full(err))
	}
	left, err := g.look(ctx)
	if err == nil && len(left.Places) > 0 {
		err = fmt.Errorf("forget: it is in %s once more: something writes it there; end that and run it again", left.Places[0].Place)
	}
	f.Done = err == nil
	return f, err
}

// Elsewhere says where a value may be that Rouse cannot take it from.
var Elsewhere = []string{
	"It may still be: with the provider of the model; where notifications and mails of cron went; in backups and other copies",
	"of the home, and in free blocks of the disk; in what is compressed or encrypted. Change what it opens, whatever is found.",
}

// forgetting is a value on its way out of a home.
type forgetting struct {
	*Keeper
	e    *erase.Eraser
	key  []byte
	sums erase.Sums
}

// look finds out where the value stands, and what contents are without it.
func (g *forgetting) look(ctx context.Context) (f Forgotten, err error) {
	f = Forgotten{Places: []Place{}, Kept: []string{}, Unread: []string{}}
	if text, err := os.ReadFile(g.Home.Forgetting()); err == nil {
		f.begun = true
		_ = json.Unmarshal(text, &g.sums) // half of it names less
	}
	err = g.each(&f, func(path, place string, own bool) error {
		hits, err := g.lookAt(path)
		if !own && hits > 0 {
			f.Kept = append(f.Kept, place)
			hits = 0
		}
		f.add(place, 1, hits)
		return err
	})
	if err != nil {
		return f, err
	}
	return f, g.stores(ctx, false, func(place string, hits int) { f.add(place, 0, hits) })
}

func (g *forgetting) lookAt(path string) (int, error) {
	in, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	return g.e.Look(in, g.sums)
}

// each gives all files of the home that are no store.
func (g *forgetting) each(f *Forgotten, visit func(path, place string, own bool) error) error {
	h := g.Home
	return filepath.WalkDir(h.Dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			f.Unread = append(f.Unread, g.e.String(h.Rel(path)))
			return nil
		case d.IsDir() && (path == h.History() || path == filepath.Join(h.Memory(), observation.Folder)):
			return fs.SkipDir
		case d.IsDir() && h.Foreign(path):
			f.Unread = append(f.Unread, g.e.String(h.Rel(path)))
			return fs.SkipDir
		}
		if _, n := g.e.Bytes([]byte(d.Name())); n > 0 {
			f.Kept = append(f.Kept, "the name "+g.e.String(h.Rel(path)))
		}
		if !d.Type().IsRegular() || filepath.Dir(path) == h.Memory() && slices.Contains(observation.DatabaseFiles(), d.Name()) {
			return nil
		}
		place, own := h.Place(path)
		if err = visit(path, place, own); errors.Is(err, fs.ErrPermission) {
			f.Unread = append(f.Unread, g.e.String(h.Rel(path)))
			err = nil
		}
		return err
	})
}

// stores looks into what is no plain file.
func (g *forgetting) stores(ctx context.Context, do bool, found func(place string, hits int)) error {
	hits, err := history.Store{Dir: g.Home.History(), Disk: g.Disk}.Erase(g.e, g.sums, do)
	if found("the history", hits); err != nil {
		return err
	}
	if !observation.Exists(g.Home.Memory()) {
		return nil
	}
	store, err := observation.Open(g.Home.Memory(), observation.Options{FS: g.Disk})
	if err != nil {
		return err
	}
	defer store.Close()
	hits, err = store.Erase(ctx, g.e, g.sums, do)
	found("all observations", hits)
	return err
}

// forget takes the value out: first of all what names contents is told what these will
// be.
func (g *forgetting) forget(ctx context.Context) error {
	text, err := json.Marshal(g.sums)
	if err = cmp.Or(err, g.readable()); err == nil {
		err = disk.Replace(g.disk(), g.Home.Forgetting(), text, 0o600)
	}
	if err == nil && g.Sources != nil {
		err = g.Sources.Rename(g.disk(), g.sums)
	}
	if err == nil {
		err = g.dropIndex(ctx)
	}
	if err == nil {
		err = g.stores(ctx, true, func(string, int) {})
	}
	if err == nil {
		err = g.each(&Forgotten{}, func(path, _ string, own bool) error {
			if !own || path == g.Home.Forgetting() {
				return nil
			}
			return g.rewrite(ctx, path, path == g.Home.Journal(home.CycleOf(filepath.Base(path))))
		})
	}
	if err == nil {
		err = g.dropIndex(ctx) // a search meanwhile may have read what was not yet written anew
	}
	if err != nil {
		return err
	}
	return cmp.Or(g.disk().Remove(g.Home.Forgetting()), g.disk().SyncDir(g.Home.Logs()))
}

// readable says why the memory would be none without the value.
func (g *forgetting) readable() error {
	was, err := os.ReadFile(g.Home.Active())
	if err != nil {
		return nil
	}
	now, _ := g.e.Bytes(was)
	_, before := scratchpad.Parse(g.Home.Active(), was)
	if _, after := scratchpad.Parse(g.Home.Active(), now); before == nil && after != nil {
		return fmt.Errorf("the memory could not be read without it, take it out by hand first: %w", after)
	}
	return nil
}

// dropIndex removes the index of the search, which is made anew when it is asked.
func (g *forgetting) dropIndex(ctx context.Context) error {
	unlock, err := disk.LockFolder(ctx, g.Home.Logs(), lockTime)
	if err != nil {
		return err
	}
	defer unlock()
	return g.Home.DropSearch(g.disk())
}

// rewrite takes the value out of a file, and nothing else changes of it.
func (g *forgetting) rewrite(ctx context.Context, path string, isJournal bool) error {
	unlock, err := g.lockLedger(ctx, path)
	if err != nil {
		return err
	}
	defer unlock()
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	over := g.over(path)
	to, now, err := g.without(path, isJournal)
	if err != nil || now == nil {
		return err
	}
	defer now.Close()
	if disk.IsTemp(filepath.Base(path)) && slices.Contains([]string{g.Home.Memory(), g.Home.Logs(), g.Home.Made()}, filepath.Dir(path)) {
		return g.disk().Remove(path) // of a writer that died
	}
	if _, err := disk.ReplaceFrom(over, to, now, info.Mode().Perm()); err != nil {
		return err
	}
	if to != path {
		return g.disk().Remove(path)
	}
	return os.Chtimes(path, info.ModTime(), info.ModTime())
}

// lockLedger keeps others from writing into a file that several processes write.
func (g *forgetting) lockLedger(ctx context.Context, path string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	switch {
	case path == g.Home.Approvals():
		return disk.Lock(ctx, g.Home.ApprovalsLock(), disk.Patient)
	case !slices.Contains([]string{g.Home.Slots(), g.Home.Spend(), g.Home.Told()}, path):
		return func() {}, nil
	}
	return disk.LockBeside(ctx, path, disk.Patient)
}

// without is what a file is to hold, and its name then; nil where it stays.
func (g *forgetting) without(path string, isJournal bool) (to string, now io.ReadCloser, err error) {
	if isJournal {
		text, changed, err := journal.Forget(path, g.key, home.CycleOf(filepath.Base(path)), func(line []byte) []byte {
			out, _ := g.e.Bytes(line)
			return g.sums.Rename(out)
		})
		if err != nil || changed == 0 {
			return path, nil, err
		}
		return path, io.NopCloser(bytes.NewReader(text)), nil
	}
	hits, err := g.lookAt(path)
	if err != nil || hits == 0 {
		return path, nil, err
	}
	to = path
	if sum, ok := g.sums[filepath.Base(path)]; ok && filepath.Dir(path) == g.Home.Made() {
		to = filepath.Join(g.Home.Made(), sum.Sum) // its name is its hash
	}
	f, err := os.Open(path)
	if err != nil {
		return to, nil, err
	}
	in := g.e.Reader(f)
	return to, struct {
		io.Reader
		io.Closer
	}{in, f}, nil
}

// over is what a file is replaced through: the memory only if nobody edits it meanwhile.
func (g *forgetting) over(path string) disk.FS {
	if path != g.Home.Active() {
		return g.disk()
	}
	hash, err := g.Home.Hash()
	if err != nil {
		return g.disk()
	}
	return unlessEdited{g.disk(), g.Home, hash}
}
