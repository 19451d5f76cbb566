package sandbox

import (
	"os"
	"path/filepath"
	"strings"
)

// mount is one of the mounts of this machine; see proc_pid_mountinfo(5).
type mount struct{ device, root, point, kind string }

// mountTable are all mounts, in the order in which they were made.
type mountTable []mount

func readMounts() (m mountTable) {
	text, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(text)) {
		if f := strings.SplitN(line, " ", 6); len(f) == 6 {
			_, kind, _ := strings.Cut(f[5], " - ")
			kind, _, _ = strings.Cut(kind, " ")
			m = append(m, mount{f[2], plain(f[3]), plain(f[4]), kind})
		}
	}
	return m
}

// plain is a path as it is, without the octal numbers that stand for blanks.
func plain(path string) string {
	if !strings.Contains(path, `\`) {
		return path
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// others are the paths beside a real one by which the same file is reached, because
// what holds it is mounted more than once.
func (m mountTable) others(there disk, path string) (paths []string) {
	var of mount
	for _, o := range m {
		if below(o.point, path) && len(o.point) >= len(of.point) {
			of = o
		}
	}
	inner := filepath.Join(of.root, strings.TrimPrefix(path, of.point))
	info := there.look(path)
	for _, o := range m {
		if o.device != of.device || o == of || !below(o.root, inner) {
			continue
		}
		other := filepath.Join(o.point, strings.TrimPrefix(inner, o.root))
		if same := there.look(other); same != nil && other != path && os.SameFile(info, same) {
			paths = append(paths, other)
		}
	}
	return paths
}
