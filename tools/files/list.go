package files

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"rouse/tools"
)

//go:embed list_files.md
var listText string

const (
	maxShown = 1000    // entries
	maxSeen  = 200_000 // entries counted before giving up
)

type listArgs struct {
	Path      string `json:"path,omitempty"`
	Recursive bool   `json:"recursive,omitempty"`
	Pattern   string `json:"pattern,omitempty"`
}

func (f Folder) listFiles() tools.Tool {
	t := tools.New("list_files", listText, f.list)
	t.ReadOnly = true
	return t
}

func (f Folder) list(ctx context.Context, _ tools.Call, a listArgs) tools.Result {
	a.Path = cmp.Or(a.Path, ".")
	if _, err := path.Match(a.Pattern, ""); err != nil {
		return tools.Fail("list %s: the pattern %s is wrong; use * ? and [a-z]", quote(a.Path), quote(a.Pattern))
	}
	root, name, err := f.open(a.Path)
	if err != nil {
		return fail("list", a.Path, err)
	}
	defer root.Close()
	l := listing{wall: f.Wall, root: root, top: name, args: a, more: []string{"."}}
	if err := l.walk(ctx); err != nil {
		return fail("list", a.Path, err)
	}
	r := l.result()
	r.Read = []string{l.at + "/"} // with all below it: names too are texts
	return r
}

// listing is one walk: breadth-first, with the entries that sort first kept.
type listing struct {
	wall   Wall
	root   *os.Root
	top    string
	at     string // where that is
	args   listArgs
	more   []string // folders still to read, relative to top
	kept   []string // entries, relative to top
	match  int
	seen   int
	failed []string // folders that could not be read
}

func (l *listing) walk(ctx context.Context) error {
	for len(l.more) > 0 && l.seen < maxSeen {
		dir := l.more[0]
		l.more = l.more[1:]
		if err := l.folder(ctx, dir); err != nil {
			if dir == "." || ctx.Err() != nil {
				return err
			}
			l.failed = append(l.failed, dir)
		}
	}
	l.trim()
	return nil
}

func (l *listing) folder(ctx context.Context, dir string) error {
	d, err := l.root.OpenFile(path.Join(l.top, dir), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := l.wall.readable(d); err != nil {
		return err
	}
	at, err := where(d)
	if err != nil {
		return err
	}
	l.at = cmp.Or(l.at, at)
	for l.seen < maxSeen {
		entries, err := d.ReadDir(1024)
		for _, e := range entries {
			if !l.wall.hides(at, e.Name()) {
				l.add(path.Join(dir, e.Name()), e)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

func (l *listing) add(name string, e fs.DirEntry) {
	l.seen++
	if e.IsDir() && l.args.Recursive {
		l.more = append(l.more, name)
	}
	if ok, _ := path.Match(l.args.Pattern, e.Name()); !ok && l.args.Pattern != "" {
		return
	}
	l.match++
	l.kept = append(l.kept, name)
	if len(l.kept) > 2*maxShown {
		l.trim()
	}
}

// trim keeps the entries to be shown, those that sort first; a folder's content follows it.
func (l *listing) trim() {
	slices.SortFunc(l.kept, func(a, b string) int {
		return strings.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
	})
	l.kept = l.kept[:min(maxShown, len(l.kept))]
}

func (l *listing) result() tools.Result {
	var b strings.Builder
	for _, name := range l.kept {
		b.WriteString(l.line(name))
	}
	switch n := l.match - len(l.kept); {
	case l.seen >= maxSeen:
		fmt.Fprintf(&b, "[%d more, and others: stopped after %d entries; name a folder below]\n", n, l.seen)
	case n > 0:
		fmt.Fprintf(&b, "[%d more; name a folder below or a pattern to see them]\n", n)
	}
	if len(l.failed) > 0 {
		fmt.Fprintf(&b, "[%d folders could not be read, the first is %s]\n", len(l.failed), quote(l.failed[0]))
	}
	if b.Len() == 0 {
		b.WriteString("[nothing]\n")
	}
	return tools.Result{OK: true, Content: b.String(), Metadata: map[string]any{
		"path": l.args.Path, "shown": len(l.kept), "entries": l.match,
	}}
}

// line describes one entry: type, size, name.
func (l *listing) line(name string) string {
	full := path.Join(l.top, name)
	info, err := l.root.Lstat(full)
	if err != nil {
		return fmt.Sprintf("%-6s %10s %s\n", "gone", "-", show(name))
	}
	size, end := "-", ""
	switch m := info.Mode(); {
	case m.IsDir():
		end = "/"
	case m.IsRegular():
		size = strconv.FormatInt(info.Size(), 10)
	case m&fs.ModeSymlink != 0:
		target, _ := l.root.Readlink(full)
		end = " -> " + show(target)
	}
	return fmt.Sprintf("%-6s %10s %s%s\n", kind(info.Mode()), size, show(name), end)
}

// show quotes a name that could pass for something else: one with control or
// invisible characters, a quote, an arrow, or white space at an end.
func show(name string) string {
	plain := strings.IndexFunc(name, func(r rune) bool {
		return !unicode.IsPrint(r) || r == '"' || r == unicode.ReplacementChar
	}) < 0
	if plain && name == strings.TrimSpace(name) && !strings.Contains(name, " -> ") && name != "" {
		return name
	}
	return strconv.Quote(name)
}
