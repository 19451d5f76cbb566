package notify

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"rouse/agent/pause"
	"rouse/internal/disk"
)

// Once remembers what was said, where nothing else can be kept: in the names of empty
// files, which take no space on a full disk.
type Once struct {
	Dirs []string // in the first that takes a file
	Name string   // how the names of the files begin, in other folders than the home's too
	// Era, unless nil, is another word once all was well in between: what is then
	// said again is news.
	Era  func() string
	Disk disk.FS // nil is the machine's
}

// mostSaid is how much is remembered in a folder.
const mostSaid = 16

// Said says whether a text was said, or one that differs in numbers alone.
func (o Once) Said(what string) bool {
	name := o.name(what)
	for _, dir := range o.Dirs {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) == os.Geteuid() {
			return true // nobody else keeps us silent
		}
	}
	return false
}

// Say remembers that a text was said, if it can.
func (o Once) Say(what string) {
	for _, dir := range o.Dirs {
		o.clear(dir)
		f, err := disk.Or(o.Disk).OpenFile(filepath.Join(dir, o.name(what)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			f.Close()
			return
		}
	}
}

// clear forgets what was said in a folder, once that is much.
func (o Once) clear(dir string) {
	entries, _ := os.ReadDir(dir)
	var said []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), o.Name) {
			said = append(said, filepath.Join(dir, e.Name()))
		}
	}
	for i := 0; len(said) >= mostSaid && i < len(said); i++ {
		_ = disk.Or(o.Disk).Remove(said[i])
	}
}

func (o Once) name(what string) string {
	era := ""
	if o.Era != nil {
		era = o.Era()
	}
	return fmt.Sprintf("%s%.8x", o.Name, sha256.Sum256([]byte(era+"\n"+pause.Cause(what))))
}
