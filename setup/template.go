package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"rouse"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/sandbox"
	"rouse/internal/text"
)

// Examples are the homes that a new one can be made from: the first line of each one's
// README, which begins with its name.
func Examples() (list []string) {
	paths, _ := fs.Glob(rouse.Examples, "examples/*/README.md") // the pattern is ours
	for _, path := range paths {
		data, _ := rouse.Examples.ReadFile(path) // it is in the program
		line, _, _ := strings.Cut(string(data), "\n")
		list = append(list, strings.TrimPrefix(line, "# "))
	}
	return list
}

// Example has the files of the example of a name.
func Example(name string) (fs.FS, error) {
	var names []string
	for _, line := range Examples() {
		known, _, _ := strings.Cut(line, ":")
		names = append(names, known)
	}
	if !slices.Contains(names, name) {
		return nil, fmt.Errorf("no example %s, there are %s%s", text.Line(name, 100), strings.Join(names, ", "), text.Meant(name, names))
	}
	return fs.Sub(rouse.Examples, "examples/"+name)
}

// Fits says why an example cannot be made in a folder: it is another home, of which
// half would become the example's.
func Fits(dir string, example fs.FS) error {
	own, err := os.ReadFile(home.Home{Dir: dir}.Rules())
	if its, _ := fs.ReadFile(example, filepath.Base(home.Home{}.Rules())); err == nil && !bytes.Equal(own, its) {
		return fmt.Errorf("%s is a home with rules of its own: make the example in a folder of its own", text.Line(dir, 300))
	}
	return nil
}

// WriteTemplate writes the files of a new home that are not there yet: those of the
// example first, unless that is nil. A new rouse.yaml has walls, as far as they hold on
// this machine; an example's is as it is. kept are files that stand in the place of the
// example's.
func WriteTemplate(dir string, example fs.FS, p Process) (made, kept []string, err error) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) == 0 {
		if err := os.Chmod(dir, 0o700); err != nil {
			return nil, nil, err
		}
	}
	if example != nil {
		if made, kept, err = writeAll(dir, example); err != nil {
			return made, kept, err
		}
	}
	more, _, err := writeAll(dir, rouse.Template)
	if made = append(made, more...); err != nil {
		return made, kept, err
	}
	h, err := home.At(dir)
	if err != nil {
		return made, kept, err
	}
	if err := (disk.OS{}).MkdirAll(h.Logs(), 0o700); err != nil || !slices.Contains(more, filepath.Base(h.Config())) {
		return made, kept, err
	}
	return made, kept, wallIn(h, p)
}

// writeAll writes files into a folder, and leaves those that are there already.
func writeAll(dir string, from fs.FS) (made, kept []string, err error) {
	out := disk.OS{}
	err = fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, name)
		if err := out.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		err = disk.Create(out, path, data, mode(name))
		if errors.Is(err, fs.ErrExist) {
			kept = append(kept, name)
			return nil
		}
		made = append(made, name)
		return err
	})
	return made, kept, err
}

func mode(name string) fs.FileMode {
	if filepath.Ext(name) == ".sh" {
		return 0o700
	}
	return 0o600
}

// wallIn writes the walls of a new home into its rouse.yaml, with what they lack here;
// where none can be had, only that. A home that cannot be opened yet, as by its .env,
// is left with those of the posture.
func wallIn(h home.Home, p Process) error {
	template, err := os.ReadFile(h.Config())
	if err != nil {
		return err
	}
	write := func(text string) error {
		return disk.Replace(disk.OS{}, h.Config(), []byte(text), mode(h.Config()))
	}
	if err := write(walled(string(template), sandbox.Listed, nil)); err != nil {
		return err
	}
	s, err := Open(h, p)
	if err != nil {
		return nil
	}
	w, err := s.Walls()
	if err != nil {
		return err
	}
	if !w.System.Confines() {
		return write(unwalled(string(template), w.Lacks))
	}
	network, lacks := sandbox.Listed, []string(nil)
	for _, hold := range w.Holds() {
		if hold.By != "" {
			continue
		}
		if lacks = append(lacks, string(hold.Promise)+": "+hold.Lacks); hold.Promise == sandbox.Hosts {
			network = sandbox.None
		}
	}
	return write(walled(string(template), network, lacks))
}

// unwalled is the template of a rouse.yaml that says why there are no walls.
func unwalled(text, why string) string {
	if why = "its kernel has no Landlock, and " + why; runtime.GOOS != "linux" {
		why = "that takes Linux"
	}
	return strings.Replace(text, "\n# posture: ", "\n# This machine has nothing to wall tools in with: "+why+".\n# Once it has, take away the # of the next line.\n# posture: ", 1)
}

// walled is the template of a rouse.yaml with its walls put up.
func walled(text string, network sandbox.Network, lacks []string) string {
	var said strings.Builder
	for i, lack := range lacks {
		if i == 0 {
			said.WriteString("\n# Not kept on this machine, see rouse doctor:")
		}
		said.WriteString("\n# - " + lack)
	}
	return strings.NewReplacer(
		"\n# posture: careful ", said.String()+"\nposture: careful   ",
		"\n# sandbox: ", "\nsandbox:   ",
		"\n#   network: listed ", "\n"+fmt.Sprintf("  network: %-9s", network),
		"\n#   hosts: [] ", "\n  hosts: []   ",
	).Replace(text)
}
