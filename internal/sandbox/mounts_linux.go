package sandbox

import (
	"os"
	"path/filepath"
	"strings"
)

// mount is one of the mounts of this machine; see proc_pid_mountinfo(5).
type mount struct{ device, root, point string }

// mountTable are all mounts, in the order in which they were made.
type mountTable []mount

func readMounts() (m mountTable) {
	text, _ := os.ReadFile("/proc/self/mountinfo")
	plain := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 4 {
			m = append(m, mount{f[2], plain.Replace(f[3]), plain.Replace(f[4])})
		}
	}
	return m
}

// others are the paths beside a real one by which the same file is reached, because
// what holds it is mounted more than once.
func (m mountTable) others(path string) (paths []string) {
	var of mount
	for _, o := range m {
		if below(o.point, path) && len(o.point) >= len(of.point) {
			of = o
		}
	}
	inner := filepath.Join(of.root, strings.TrimPrefix(path, of.point))
	info, err := os.Lstat(path)
	for _, o := range m {
		if o.device != of.device || o == of || !below(o.root, inner) || err != nil {
			continue
		}
		other := filepath.Join(o.point, strings.TrimPrefix(inner, o.root))
		if same, err := os.Lstat(other); err == nil && other != path && os.SameFile(info, same) {
			paths = append(paths, other)
		}
	}
	return paths
}
