package sandbox

import (
	"bufio"
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"rouse/internal/lazy"
)

// Kinds of refusals. Of the first three `rouse allow` is the mend.
const (
	Host  = "host"
	Read  = "read"
	Write = "write"
	Net   = "network" // to a host that is not known
	Bound = "limit"
)

// Refusal is what a box kept a process from.
type Refusal struct{ Kind, What string }

// String is it in words, such as "write /etc/hosts".
func (r Refusal) String() string { return strings.TrimSpace(r.Kind + " " + r.What) }

// maxRefusals is how many refusals are told of one call.
const maxRefusals = 5

// maxScanned is the longest line that is looked at, in bytes.
const maxScanned = 16 << 10

// Refusals finds in what a process said that failed, in the folder dir, what the box
// refused it. A program may say what it likes: it counts only where the policy refuses
// just that, and Rouse itself could have done it.
func (b *Box) Refusals(dir string, said ...[]byte) (list []Refusal) {
	if b == nil {
		return nil
	}
	for _, text := range said {
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, maxScanned)
		for len(list) < maxRefusals && lines.Scan() {
			for _, r := range b.refusals(dir, lines.Text()) {
				if !slices.Contains(list, r) && len(list) < maxRefusals {
					list = append(list, r)
				}
			}
		}
	}
	return list
}

// refusals are those of which a line tells.
func (b *Box) refusals(dir, line string) (list []Refusal) {
	small := strings.ToLower(line)
	if why := denial(small); why != "" {
		list = b.refusedPaths(dir, line, why)
	}
	if b.policy.Network == None && unreachable(small) {
		if r, ok := unreached(line); ok {
			list = append(list, r)
		}
	}
	return list
}

func (b *Box) refusedPaths(dir, line, why string) (list []Refusal) {
	for _, group := range paths(line) {
		for _, path := range group {
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, path)
			}
			if r, ok := b.refuses(filepath.Clean(path), why); ok {
				list = append(list, r)
			}
		}
		if len(list) > 0 {
			break
		}
	}
	return list
}

// What a system says of a file that may not be used.
const (
	denied   = "permission denied"
	readOnly = "read-only file system"
	noOwner  = "operation not permitted"
	missing  = "no such file or directory"
)

func denial(line string) string {
	for _, why := range []string{denied, readOnly, noOwner, missing} {
		if strings.Contains(line, why) {
			return why
		}
	}
	return ""
}

// refuses says whether the policy, and nothing else, is why a path cannot be used.
func (b *Box) refuses(path, why string) (r Refusal, ok bool) {
	own := []string{"/dev", "/proc"}
	if b.system.Bubblewrap != "" {
		own = append(own, "/tmp", "/run")
	}
	if longest(own, path) >= 0 { // of these it has its own
		return r, false
	}
	real := resolved(path)
	switch {
	case why != readOnly && !b.policy.Reads(real) && unix.Access(real, unix.R_OK) == nil:
		return Refusal{Read, path}, true
	case why != missing && !b.policy.Writes(real) && writable(real):
		return Refusal{Write, path}, true
	}
	return r, false
}

// writable says whether Rouse could write a file, or make it.
func writable(path string) bool {
	err := unix.Access(path, unix.W_OK)
	if err == unix.ENOENT {
		err = unix.Access(filepath.Dir(path), unix.W_OK)
	}
	return err == nil
}

// resolved is a path without links, as far as it exists.
func resolved(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(resolved(dir), filepath.Base(path))
	}
	return path
}

// quoted matches what a program puts into quotation marks.
var quoted = lazy.Regexp("'([^']+)'|\"([^\"]+)\"|‘([^’]+)’|`([^'`]+)['`]")

// paths are the words of a line that may be the path that it is about, the likeliest
// first: what is quoted, what stands before the reason, and words that begin with /.
func paths(line string) (groups [3][]string) {
	for _, m := range quoted().FindAllStringSubmatch(line, 4) {
		groups[0] = append(groups[0], strings.Join(m[1:], ""))
	}
	if parts := strings.Split(line, ": "); len(parts) > 2 { // as in "cat: a b: Permission denied"
		groups[1] = parts[len(parts)-2 : len(parts)-1]
	}
	for _, word := range strings.Fields(line) {
		if word = strings.TrimRight(strings.TrimLeft(word, "([<"), ".,:;)]>"); strings.HasPrefix(word, "/") {
			groups[2] = append(groups[2], word)
		}
	}
	return groups
}

// unreachable says whether a line, in small letters, tells of a network that is not there.
func unreachable(line string) bool {
	return !strings.Contains(line, "connection refused") && slices.ContainsFunc([]string{
		"could not resolve host", "couldn't resolve host", "unable to resolve host", "temporary failure in name resolution", "temporary failure resolving",
		"name or service not known", "no address associated with hostname", "network is unreachable", "eai_again", "enotfound", "connect eacces", "connect enetunreach",
		"failed to connect to", "socket: operation not permitted", "socket: permission denied", "dial tcp",
	}, func(said string) bool { return strings.Contains(line, said) })
}

// hostName matches the names of hosts as programs tell of them.
var hostName = lazy.Regexp(`(?i)(?:host='|resolve host(?: address)?:? [‘'"]?|resolving '|eai_again |enotfound |lookup |connect to |https?://(?:[^/@\s]*@)?)([a-z0-9][a-z0-9.-]*)`)

// unreached is the host of which a line tells that it cannot be reached, as far as it
// names one; ok is false for this machine.
func unreached(line string) (r Refusal, ok bool) {
	m := hostName().FindStringSubmatch(line)
	if m == nil {
		return Refusal{Kind: Net}, true
	}
	name := strings.ToLower(strings.TrimRight(m[1], "."))
	return Refusal{Host, name}, name != "localhost" && !strings.HasPrefix(name, "127.")
}

// Reads says whether the policy lets a path, without links, be read.
func (p Policy) Reads(path string) bool {
	return max(longest(p.Read, path), longest(p.ReadOnly, path), p.written(path)) > longest(p.Hidden, path)
}

// Writes says whether the policy lets a path, without links, be written.
func (p Policy) Writes(path string) bool {
	return p.written(path) > max(longest(p.ReadOnly, path), longest(p.Hidden, path))
}

func (p Policy) written(path string) int {
	return max(longest(p.Write, path), longest([]string{p.Temp, p.Cache}, path))
}

// longest is the length of the longest of these paths at or above another; -1 is none.
func longest(list []string, path string) int {
	most := -1
	for _, top := range list {
		if top != "" && within(path, top) {
			most = max(most, len(top))
		}
	}
	return most
}

// within says whether a path is at or below another one.
func within(path, top string) bool {
	rest, ok := strings.CutPrefix(path, top)
	return ok && (rest == "" || rest[0] == '/' || top == "/")
}
