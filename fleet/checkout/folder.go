package checkout

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"rouse/agent/history"
	"rouse/fleet/store"
	"rouse/home"
	"rouse/internal/clock"
	"rouse/internal/disk"
	"rouse/internal/mirror"
)

// What of a folder is not in the version that its record names.
const (
	apart   = "apart"   // it is being made, or orders are carried out: all that counts is in the store
	working = "working" // what a cycle did under the epoch
)

// Folder is where a worker has a home, and keeps it while others have it. It is changed in
// place: what is current is neither read nor written.
type Folder struct {
	home.Home
	Moved bool // what was in it is in its place for what was overtaken

	s    *store.Store
	rec  record
	lost string           // where that is
	base *history.Version // what of the folder is in the store, nil before that is known
	seen *history.Version // how it was at the last look
}

// FolderOf is the folder of a home, of which dir need not be there; what is overtaken in it is kept in lost.
func FolderOf(s *store.Store, name, dir, lost string) *Folder {
	f := &Folder{Home: home.Home{Dir: dir}, s: s, lost: lost}
	if f.rec = recordOf(f.Home); f.rec.Fleet != s.ID || f.rec.Name != name {
		f.rec = record{Fleet: s.ID, Name: name}
		if names, err := os.ReadDir(dir); err == nil && len(names) > 0 {
			f.rec.Stage = working // of whom nobody knows
		}
	}
	return f
}

// Ours says that what is in the folder goes on under a lease: nobody had the home since this
// folder's last one, whose work is not in the store.
func (f *Folder) Ours(l store.Lease, version int) bool {
	return f.rec.Stage == working && f.rec.Epoch+1 == l.Epoch && f.rec.Version == version
}

// Current says that the folder is a version, as it was put here or committed, but for edits.
func (f *Folder) Current(version int) bool { return f.rec.Stage == "" && f.rec.Version == version }

// Checkout makes the folder the newest version of the home, with lines that a cycle elsewhere
// left. Where it is that already, and nobody else's lines are there, nothing is looked at.
func (f *Folder) Checkout(ctx context.Context, l store.Lease, version int, lines []mirror.Line) error {
	if err := f.arrived(ctx, l); err != nil {
		return err
	}
	if f.Current(version) && len(lines) == 0 {
		return nil
	}
	to, is, err := VersionOf(ctx, f.s, l.Home, 0)
	if err == nil && is != version {
		err = errors.New("the home got a version while it was taken")
	}
	if err != nil {
		return err
	}
	err = f.clear()
	if err == nil {
		err = f.mark(apart, store.Lease{})
	}
	if err == nil {
		err = os.RemoveAll(f.Seen()) // which it is no more
	}
	if err == nil {
		err = f.put(ctx, to)
	}
	if err == nil {
		err = mirror.Restore(f.Dir, lines)
	}
	if err != nil {
		return disk.Full(fmt.Errorf("check out version %d: %w", version, err), f.Dir)
	}
	f.rec.Version, f.base = version, to
	if len(lines) > 0 {
		return nil // whose end the next stage is
	}
	return f.mark("", l)
}

// arrived finds out whether a commit of this folder's came through that nobody heard of.
func (f *Folder) arrived(ctx context.Context, l store.Lease) error {
	if f.rec.Stage != working || f.rec.Epoch == 0 {
		return nil
	}
	base, version, err := VersionOf(ctx, f.s, l.Home, f.rec.Epoch)
	if errors.Is(err, store.ErrNone) {
		return nil
	}
	f.base, f.seen, f.rec.Version, f.rec.Stage = base, base, version, ""
	return err
}

// clear keeps aside what is in the folder and nowhere else, and looks at the rest.
func (f *Folder) clear() (err error) {
	f.known()
	if f.seen, err = look(f.Home, f.seen); err != nil {
		return err
	}
	if f.rec.Stage == apart || f.seen.Files() == 0 {
		return nil
	}
	if f.rec.Stage == "" && f.base != nil && changed(f.base, f.seen, f.moves) == "" {
		return nil
	}
	return f.aside()
}

func (f *Folder) moves(c history.Change) bool { return f.Moves(c.Path) }

// known reads how the folder was at the last commit or checkout.
func (f *Folder) known() {
	if f.base != nil {
		return
	}
	if frame, err := disk.ReadSmall(f.Seen(), 1<<30); err == nil {
		f.base, _ = history.Parse(frame) // what cannot be read is looked at anew
	}
	f.seen = cmp.Or(f.seen, f.base)
}

// Working says that the folder has what a cycle did and is in no version.
func (f *Folder) Working() bool { return f.rec.Stage == working }

// Overtaken keeps that aside.
func (f *Folder) Overtaken() error {
	if f.Working() {
		return f.aside()
	}
	return nil
}

// aside moves the folder to where what was overtaken is kept, in the place of what is there.
func (f *Folder) aside() error {
	if disk.Exists(f.lost) {
		if err := cmp.Or(clean(f.lost), os.Remove(f.lost)); err != nil {
			return err
		}
	}
	err := cmp.Or(os.MkdirAll(filepath.Dir(f.lost), 0o700), os.Rename(f.Dir, f.lost))
	f.rec.Stage, f.base, f.seen, f.Moved = apart, nil, new(history.Version), true
	return err
}

// Begin says that from here on the folder has what is nowhere else.
func (f *Folder) Begin(l store.Lease) error { return f.mark(working, l) }

// Apart says that what happens in the folder from here on counts once it is committed, and
// not at all else.
func (f *Folder) Apart() error { return f.mark(apart, store.Lease{}) }

// mark writes the record, whole or not at all. Nothing is synced: what a loss of power takes
// of it is found out by what the folder and the store have.
func (f *Folder) mark(stage string, l store.Lease) error {
	f.rec.Stage, f.rec.Epoch = stage, l.Epoch
	data, err := json.Marshal(f.rec)
	if err == nil {
		err = os.MkdirAll(f.Logs(), 0o700)
	}
	if err == nil {
		err = f.straight()
	}
	if err == nil {
		plain(f.Pushing())
		err = disk.Overwrite(disk.OS{}, f.Pushing(), data, 0o600)
	}
	if err == nil {
		err = disk.OS{}.Rename(f.Pushing(), f.Pushed())
	}
	return disk.Full(err, f.Dir)
}

// straight refuses a home whose own folders are links: what is written there would be elsewhere.
func (f *Folder) straight() error {
	for _, dir := range []string{f.Logs(), f.Memory()} {
		if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
			return fmt.Errorf("%s is no folder: remove it, or pull the home and push it whole", dir)
		}
	}
	return nil
}

// plain removes what is no file where one is to be written: a FIFO, a link that leads elsewhere.
func plain(path string) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		_ = os.Remove(path) // what follows says why it cannot be
	}
}

// put makes the folder a version. Times of folders follow what was put into them.
func (f *Folder) put(ctx context.Context, to *history.Version) error {
	plan, _ := history.Plan(f.seen, to, nil)
	if len(plan) == 0 {
		return nil
	}
	if err := Put(ctx, f.s, f.Dir, plan); err != nil {
		return err
	}
	return timed(f.Dir, to)
}

// timed gives folders and links their times.
func timed(dir string, v *history.Version) (err error) {
	for _, e := range slices.Backward(slices.Collect(v.All())) { // what is in a folder before it
		if t := unix.NsecToTimespec(e.Mod); err == nil && (e.Kind == history.Folder || e.Kind == history.Link) {
			err = unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(dir, filepath.FromSlash(e.Path)), []unix.Timespec{t, t}, unix.AT_SYMLINK_NOFOLLOW)
		}
	}
	return err
}

// tries is how often a folder is looked at again that changes while it is sent.
const tries = 3

// Send looks at the folder and sends what is new of it. It makes v the version that there is
// to commit, without a manifest where nothing changed; the report says what is left out.
func (f *Folder) Send(ctx context.Context, l store.Lease, v *store.Version) (r Report, err error) {
	f.known()
	r = Report{Name: f.rec.Name, Dir: f.Dir, Version: f.rec.Version}
	for n := range tries {
		if f.seen, err = look(f.Home, f.seen); err != nil {
			return r, err
		}
		if r.Sent, err = f.send(ctx, l); !errors.As(err, new(*moving)) || n == tries-1 {
			break
		}
	}
	if err == nil && (f.base == nil || changed(f.base, f.seen, f.moves) != "") {
		v.Manifest = f.seen.Text()
		r.Version++
	}
	_ = r.count(f.seen) // who wakes the home says what is left out
	v.Files, v.Bytes = r.Files, r.Bytes
	return r, err
}

// Commit commits what was sent, and ends the lease. What cannot be remembered of it here, as on
// a disk that is full, is found out again.
func (f *Folder) Commit(ctx context.Context, l store.Lease, v store.Version) error {
	if err := f.commit(ctx, l, v); err != nil {
		return err
	}
	f.rec.Version += min(1, len(v.Manifest))
	f.base = f.seen
	plain(f.Seen())
	if disk.Overwrite(disk.OS{}, f.Seen(), f.seen.Text(), 0o600) == nil {
		_ = f.mark("", l)
	}
	return nil
}

// send sends the contents that are new since the version.
func (f *Folder) send(ctx context.Context, l store.Lease) (int64, error) {
	var files []history.Entry
	for _, c := range history.Diff(cmp.Or(f.base, new(history.Version)), f.seen) {
		if c.Is != nil && c.Is.Kind == history.File {
			files = append(files, *c.Is)
		}
	}
	return upload(ctx, f.s.Upload(l), f.Home, files)
}

// commit commits, until the answer is known or the context ends. One that arrived though
// nobody heard of it has ended the lease.
func (f *Folder) commit(ctx context.Context, l store.Lease, v store.Version) error {
	for unsure, wait := false, 50*time.Millisecond; ; wait *= 2 {
		err := f.s.Commit(ctx, l, v)
		if errors.Is(err, store.ErrLost) && unsure {
			if _, _, none := f.s.Manifest(ctx, l.Home, l.Epoch); none == nil || v.Manifest == nil {
				return nil
			}
		}
		if err == nil || errors.Is(err, store.ErrLost) || ctx.Err() != nil || wait > time.Second {
			return err
		}
		unsure = true
		clock.Pause(ctx, wait)
	}
}
