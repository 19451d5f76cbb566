package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"rouse/internal/lazy"
	"rouse/internal/text"
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

// Ear listens to what a process says, for what its box refuses it. A nil one hears
// nothing.
type Ear struct {
	box  *Box
	dir  string
	ends text.Ends
}

// heard is how much of the beginning and of the end is kept, in bytes.
const heard = 16 << 10

// Listen gives an ear for a process in a folder; nil without a box.
func (b *Box) Listen(dir string) *Ear {
	if b == nil {
		return nil
	}
	return &Ear{box: b, dir: dir, ends: text.Ends{Head: heard, Tail: heard}}
}

// Write never fails.
func (e *Ear) Write(p []byte) (int, error) { return e.ends.Write(p) }

// Beside is a writer with the ear beside it.
func (e *Ear) Beside(w io.Writer) io.Writer {
	if e == nil {
		return w
	}
	return io.MultiWriter(w, e)
}

// Refusals are what the box refused a process: these hosts, these others and, where it
// failed, what it said itself. A program may say what it likes: it counts only where
// the policy refuses just that, and Rouse itself could have done it.
func (e *Ear) Refusals(failed bool, hosts []string, others ...Refusal) []Refusal {
	if e == nil {
		return nil
	}
	var list refusals
	for _, host := range hosts {
		list.add(Refusal{Host, host})
	}
	list.add(others...)
	if !failed {
		return list
	}
	head, tail, left := e.ends.Kept()
	if left == 0 {
		head, tail = slices.Concat(head, tail), nil
	}
	for _, said := range [][]byte{head, tail} {
		for line := range bytes.Lines(said) {
			if len(line) <= maxScanned && len(list) < maxRefusals {
				list.add(e.box.told(e.dir, strings.TrimSpace(string(line)))...)
			}
		}
	}
	return list
}

// Refused is what the box refused in a part of the life of a process, in a folder: hosts
// that it did not refuse before, or that are named in what was said where that part
// failed, and what else that tells of.
func (b *Box) Refused(dir, said string, before, hosts []string) []Refusal {
	ear := b.Listen(dir)
	_, _ = io.WriteString(ear.Beside(io.Discard), said)
	return ear.Refusals(said != "", slices.DeleteFunc(slices.Clone(hosts), func(host string) bool {
		return slices.Contains(before, host) && !strings.Contains(said, host)
	}))
}

// Hint names the limits of the box that a process which failed may have met, by what it
// said: another cause is as likely, so that it is no refusal. "" is none.
func (e *Ear) Hint() string {
	if e == nil {
		return ""
	}
	head, tail, _ := e.ends.Kept()
	said, limits := strings.ToLower(string(head)+string(tail)), e.box.policy.Limits
	tells := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(said, word) })
	}
	switch {
	case limits.Memory > 0 && tells("cannot allocate memory", "memoryerror", "out of memory", "bad_alloc"):
		return fmt.Sprintf("; it may have met sandbox.memory, %d MiB, which only the operator can raise", limits.Memory>>20)
	case limits.Processes > 0 && tells("resource temporarily unavailable", "cannot fork"):
		return fmt.Sprintf("; it may have met sandbox.processes, %d, which only the operator can raise", limits.Processes)
	case limits.OpenFiles > 0 && tells("too many open files"):
		return fmt.Sprintf("; it may have met sandbox.open_files, %d, which only the operator can raise", limits.OpenFiles)
	}
	return ""
}

// refusals are a bounded list without doubles.
type refusals []Refusal

func (l *refusals) add(more ...Refusal) {
	for _, r := range more {
		if len(*l) < maxRefusals && !slices.Contains(*l, r) {
			*l = append(*l, r)
		}
	}
}

// Ended says which limit of the box ended a process, by the signal that did it or the
// exit code with which a shell tells of that.
func (b *Box) Ended(signal string, code int) []Refusal {
	const cpu, size = 24, 25 // as Linux numbers the two
	switch {
	case b == nil:
		return nil
	case b.policy.Limits.CPU > 0 && (signal == "SIGXCPU" || code == 128+cpu):
		return []Refusal{{Bound, "cpu"}}
	case b.policy.Limits.FileSize > 0 && (signal == "SIGXFSZ" || code == 128+size):
		return []Refusal{{Bound, "file_size"}}
	}
	return nil
}

// told are the refusals of which a line tells.
func (b *Box) told(dir, line string) (list []Refusal) {
	small := strings.ToLower(line)
	if why := denial(small); why != "" {
		list = b.refusedPaths(dir, line, why)
	}
	if b.policy.Network == Open || !unreachable(small) {
		return list
	}
	r, ok := unreached(line)
	if p := b.policy; p.Network == Listed && p.Lists != nil && (r.Kind == Net || p.Lists(r.What)) {
		r = Refusal{Net, "but by the proxy in $https_proxy"} // such a program does not ask it
	}
	if ok {
		list = append(list, r)
	}
	return list
}

func (b *Box) refusedPaths(dir, line, why string) (list []Refusal) {
	creates := strings.Contains(line, "create") || strings.Contains(line, "touch")
	for i, group := range paths(line) {
		for _, path := range group {
			vague := i > 0 && (strings.Contains(path, " ") || !strings.Contains(path, "/"))
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, path)
			}
			if vague && unix.Access(path, unix.F_OK) != nil {
				continue // rather other words
			}
			if r, ok := b.refuses(filepath.Clean(path), why, creates); ok {
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
	if strings.Contains(line, "directory nonexistent") { // as dash has it
		return missing
	}
	return ""
}

// refuses says whether the policy, and nothing else, is why a path cannot be used, or
// made.
func (b *Box) refuses(path, why string, creates bool) (r Refusal, ok bool) {
	real := resolved(path)
	switch {
	case longest([]string{"/dev", "/proc"}, path) >= 0: // it has its own
		return r, false
	case why == noOwner && unix.Access(real, unix.F_OK) != nil: // as of a signal: "sh: kill: …"
		return r, false
	case b.replaced(real) && why == missing:
		kind := Read
		if creates {
			kind = Write
		}
		return Refusal{kind, path}, kind == Read && unix.Access(real, unix.F_OK) == nil || kind == Write && writable(real)
	case b.replaced(real):
		return r, false
	case why != readOnly && !b.whole().Reads(real) && unix.Access(real, unix.R_OK) == nil:
		return Refusal{Read, path}, true
	case why != missing && !b.whole().Writes(real) && writable(real):
		return Refusal{Write, path}, true
	}
	return r, false
}

// Lets says whether a file that is there can be read, or with the kind Write written.
func (b *Box) Lets(kind, path string) bool {
	if b == nil {
		return true
	}
	real := resolved(path)
	if unix.Access(real, unix.F_OK) != nil || b.replaced(real) {
		return false
	}
	return kind == Write && b.whole().Writes(real) || kind == Read && b.whole().Reads(real)
}

// replaced says whether a path lies in a folder of which bubblewrap makes one of its
// own, and what is there outside is not shown in it.
func (b *Box) replaced(path string) bool {
	p, own := b.whole(), longest([]string{"/run"}, path)
	if p.Temp != "" {
		own = max(own, longest([]string{"/tmp"}, path))
	}
	return b.system.wraps() && own >= 0 && max(longest(p.Read, path), longest(p.ReadOnly, path), longest(p.Hidden, path), p.written(path)) < own
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
var quoted = lazy.Regexp{Expr: "'([^']+)'|\"([^\"]+)\"|‘([^’]+)’|`([^'`]+)['`]"}

// paths are the words of a line that may be the path that it is about, the likeliest
// first: what is quoted, what stands before the reason, the last word of that, and
// words that begin with /.
func paths(line string) (groups [4][]string) {
	for _, m := range quoted.Get().FindAllStringSubmatch(line, 4) {
		groups[0] = append(groups[0], strings.Join(m[1:], ""))
	}
	if parts := strings.Split(line, ": "); len(parts) > 1 { // as in "cat: a b: Permission denied"
		before := parts[len(parts)-2]
		groups[1], groups[2] = []string{before}, []string{before[strings.LastIndexByte(before, ' ')+1:]}
	}
	for _, word := range strings.Fields(line) {
		if word = strings.TrimRight(strings.TrimLeft(word, "([<"), ".,:;)]>"); strings.HasPrefix(word, "/") {
			groups[3] = append(groups[3], word)
		}
	}
	return groups
}

// unreachable says whether a line, in small letters, tells of a network that is not there.
func unreachable(line string) bool {
	return !strings.Contains(line, "connection refused") && slices.ContainsFunc([]string{
		"could not resolve host", "couldn't resolve host", "unable to resolve host", "temporary failure in name resolution", "temporary failure resolving",
		"name or service not known", "no address associated with hostname", "network is unreachable", "eai_again", " enotfound", "'enotfound", "connect eacces", "connect enetunreach",
		"failed to connect to", "socket: operation not permitted", "socket: permission denied", "dial tcp",
	}, func(said string) bool { return strings.Contains(line, said) })
}

// hostName matches the names of hosts as programs tell of them.
var hostName = lazy.Regexp{Expr: `(?i)(?:host='|resolve host(?:name| address)?:? [‘'"]?|resolving '|eai_again |enotfound |lookup |connect to |https?://(?:[^/@\s]*@)?)([a-z0-9][a-z0-9.-]*)`}

// unreached is the host of which a line tells that it cannot be reached, as far as it
// names one; ok is false for this machine.
func unreached(line string) (r Refusal, ok bool) {
	m := hostName.Get().FindStringSubmatch(line)
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
