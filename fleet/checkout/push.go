package checkout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"

	"rouse/agent/config"
	"rouse/agent/history"
	"rouse/fleet/store"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/vault"
)

// Push takes a home into the fleet, under a name or, with "", that of before or of its
// folder. It fails with [home.ErrAwake] while a cycle is awake.
func Push(ctx context.Context, s *store.Store, h home.Home, name string) (r Report, err error) {
	c, err := config.Load(h.Config(), os.Getenv)
	if err = cmp.Or(err, Inside(h, h.Folder(cmp.Or(c.Workspace, h.Dir))), h.MakeFolders(disk.OS{})); err != nil {
		return r, err
	}
	defer func(began time.Time) { err = cmp.Or(err, home.GiveBack(h.Dir, began)) }(time.Now())
	unlock, err := home.Home{Dir: h.Dir}.Lock() // also one that has the mark of a push that was killed
	if err != nil {
		return r, err
	}
	defer unlock()
	if newest, _ := h.Newest(); newest == "" { // else the first cycle makes a key that is lost with its machine
		if _, err := h.MakeKey(disk.OS{}); err != nil {
			return r, err
		}
	}
	rec := recordOf(h)
	r = Report{Name: cmp.Or(name, rec.Name, filepath.Base(h.Dir)), Dir: h.Dir, Unscheduled: len(c.Schedule) == 0}
	at, err := begin(ctx, s, h, &rec, r.Name)
	if err != nil {
		return r, err
	}
	v, err := look(h, nil)
	if err == nil {
		err = r.count(v)
	}
	if err == nil {
		r.Sent, err = upload(ctx, s.Upload(store.Lease{Home: at.ID, Epoch: rec.Epoch}), h, slices.Collect(v.All()))
	}
	if err != nil {
		return r, err
	}
	if now, err := look(h, v); err != nil || changed(v, now, nil) != "" {
		return r, cmp.Or(err, error(&moving{changed(v, now, nil)}))
	}
	if err := h.Mark(disk.OS{}, r.Name); err != nil {
		return r, err
	}
	r.Version = at.Version + 1
	err = s.Commit(ctx, store.Lease{Home: at.ID, Epoch: rec.Epoch}, store.Version{Manifest: v.Text(), Maker: holder(h.Dir), Files: r.Files, Bytes: r.Bytes, Keys: KeysIn(h.Env())})
	if errors.Is(err, store.ErrLost) {
		return r, cmp.Or(h.Mark(disk.OS{}, ""), lost(at))
	}
	if err != nil {
		err = fmt.Errorf("nobody knows whether the push arrived, so the home wakes nowhere; push again: %w", err)
	}
	return r, err
}

// begin makes sure that this folder has the home under its epoch, which a first push makes.
func begin(ctx context.Context, s *store.Store, h home.Home, rec *record, name string) (at store.Home, err error) {
	if m := h.Marked(); m != "" && (m != name || rec.Name != name) {
		return at, fmt.Errorf("the home is in the fleet as %s: pull it first", m)
	}
	if ok, _ := regexp.MatchString(names, name); !ok {
		return at, fmt.Errorf("%q cannot be a name: want letters, digits, dots and dashes, by --name", name)
	}
	if rec.Name != name {
		if err := s.Create(ctx, name, holder(h.Dir)); err != nil {
			return at, err
		}
		if at, err = s.Home(ctx, name); err != nil {
			return at, err
		}
		if at.Version > 0 || at.Holder != holder(h.Dir) {
			return at, fmt.Errorf("the fleet has a home %s already, and this folder is not where it was pulled to: pull that one, or push this under another --name", name)
		}
		*rec = record{Fleet: s.ID, Name: name, Epoch: at.Epoch}
		return at, rec.write(h)
	}
	if rec.Fleet != s.ID {
		return at, fmt.Errorf("the home is %s of another fleet, %s: look at the DSN, or push it under another --name", name, rec.Fleet)
	}
	at, err = s.Home(ctx, name)
	switch {
	case err != nil:
		return at, fmt.Errorf("%s: %w", name, err)
	case at.Epoch == rec.Epoch && at.Holder == "":
		return at, fmt.Errorf("%s is in the fleet already, at version %d", name, at.Version)
	case at.Epoch != rec.Epoch:
		if _, _, none := s.Manifest(ctx, at.ID, rec.Epoch); errors.Is(none, store.ErrNone) {
			if err = forgotten(ctx, s, at, rec.Epoch); err == nil {
				err = h.Mark(disk.OS{}, "") // of a push that never arrived
			}
		}
		return at, cmp.Or(err, lost(at))
	}
	return at, h.Mark(disk.OS{}, "") // of a push that was killed before it arrived
}

// lost says what to do with a home that somebody else took.
func lost(at store.Home) error {
	return fmt.Errorf("%s: %w (%s); what changed here since stays here, and can go in as a home of its own, by --name", at.Name, store.ErrLost, cmp.Or(at.Holder, "it is in the fleet"))
}

// forgotten says what to do in a folder whose version was removed from the store since.
func forgotten(ctx context.Context, s *store.Store, at store.Home, epoch int64) error {
	is, err := s.Forgotten(ctx, at.ID, epoch)
	if is {
		err = fmt.Errorf("%s: what was pushed from here is no longer kept, so nobody knows what changed here since: pull into another folder", at.Name)
	}
	return err
}

// KeysIn are the names of what a .env holds, in their order.
func KeysIn(path string) []string {
	keys := []string{}
	list, _ := vault.ReadEnv(path) // who wakes a home says what is wrong with it
	for _, v := range list {
		keys = append(keys, v.Name)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Key is the file of a key for a home in a folder of keys: its own before that of all, "" where
// there is none. One that cannot be looked at is no reason to take the other: reading it says why.
func Key(keys, name, base string) string {
	for _, path := range []string{filepath.Join(keys, name, base), filepath.Join(keys, base)} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return path
		}
	}
	return ""
}

// names are what fits into a command line and the mark.
const names = `^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`

// upload sends the contents of files that the store does not have.
func upload(ctx context.Context, u *store.Upload, h home.Home, files []history.Entry) (sent int64, err error) {
	files = slices.DeleteFunc(files, func(e history.Entry) bool { return e.Kind != history.File })
	for some := range slices.Chunk(files, 1000) {
		sums := make([]string, len(some))
		for i, e := range some {
			sums[i] = e.Is
		}
		missing, err := u.Missing(ctx, sums)
		for _, e := range some {
			if err == nil && missing[e.Is] {
				err = add(ctx, u, filepath.Join(h.Dir, filepath.FromSlash(e.Path)), e.Is)
			}
		}
		if err != nil {
			return u.Sent, err
		}
	}
	err = u.Flush(ctx)
	return u.Sent, err
}

// moving says that a file changed while the home was sent.
type moving struct{ path string }

func (m *moving) Error() string {
	return m.path + " changed while the home was pushed, and it stays here: try again when nobody writes there"
}

func add(ctx context.Context, u *store.Upload, path, sum string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &moving{path}
	}
	if err != nil {
		return err
	}
	defer f.Close()
	is, err := u.Add(ctx, f)
	if err == nil && is != sum {
		err = &moving{path}
	}
	return err
}
