package proc

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// stat is what /proc/PID/stat says of a process that we need; see proc(5).
type stat struct {
	pid     int
	state   byte
	parent  int
	group   int
	session int
	start   uint64
}

// dead says that the process only waits to be reaped.
func (s stat) dead() bool { return s.state == 'Z' || s.state == 'X' }

// readStat reports false if there is no such process.
func readStat(pid int) (stat, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	return parseStat(pid, b)
}

// parseStat reads the fields behind the program's name, which stands in
// parentheses and may itself contain anything.
func parseStat(pid int, b []byte) (stat, bool) {
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 20 {
		return stat{}, false
	}
	s := stat{pid: pid, state: fields[0][0]}
	var errs [4]error
	s.parent, errs[0] = strconv.Atoi(fields[1])
	s.group, errs[1] = strconv.Atoi(fields[2])
	s.session, errs[2] = strconv.Atoi(fields[3])
	s.start, errs[3] = strconv.ParseUint(fields[19], 10, 64)
	return s, errs == [4]error{}
}

func identify(pid int, boot string) Identity {
	s, _ := readStat(pid)
	return Identity{PID: pid, Start: s.start, Session: s.session, Boot: boot}
}

func alive(i Identity) bool {
	s, ok := readStat(i.PID)
	return ok && !s.dead() && s.start == i.Start
}

// Name is what a process calls itself, a word that anything may stand in; "" if there
// is no such process.
func Name(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return string(bytes.TrimSpace(b))
}

// bootID names this boot of the machine; empty if there is no /proc.
func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(bytes.TrimSpace(b))
}

// numbers are the folders of dir that are named by a number.
func numbers(dir string) []int {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	var ns []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			ns = append(ns, n)
		}
	}
	return ns
}

// marks returns the value of ROUSE_CHILD with which a process was started.
// It is empty for a process that has died, cleared its environment, or is
// another user's.
func marks(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return ""
	}
	return Lookup(strings.Split(string(b), "\x00"), markVariable)
}

// carries tells whether a value of ROUSE_CHILD has the mark of a process, or that
// of a Runner.
func carries(marks, mark string) bool {
	return slices.Contains(strings.Split(marks, "/"), mark) || numberIn(marks, mark) > 0
}

// numberIn finds in a value of ROUSE_CHILD the number of the process of the
// Runner with this mark; 0 if there is none.
func numberIn(marks, mark string) int {
	for m := range strings.SplitSeq(marks, "/") {
		if number, ok := strings.CutPrefix(m, mark+"."); ok {
			n, _ := strconv.Atoi(number)
			return n
		}
	}
	return 0
}
