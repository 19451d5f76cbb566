// Package mirror hands what a cycle must not lose to whoever started it, while the
// cycle runs.
//
// A worker of a fleet runs `rouse run` in a folder that dies with its machine. It
// passes a connected unix stream socket and names its descriptor in [Variable].
// From then on what is added to the files of [Mirrored] goes there too: a Sync
// returns once the other side has answered that it has all of it. So the intent of a call
// is elsewhere before the call begins. Without the variable nothing here is used.
//
// A frame is a line of JSON and as many bytes as it says; the next one waits for the answer.
//
//	{"file":"logs/spend.jsonl","at":1234,"bytes":57}       which stand there in the file
//	{"file":"logs/spend.jsonl","whole":true,"bytes":999}   which the file is now
//	{} or {"lost":"why"}                                   is the answer
//
// Whatever else comes, or an end, means lost as well: the home may be somebody else's by
// now. The cycle then begins no call and ends ([ErrLost]).
//
// # Which files
//
// Those in logs/ whose loss would repeat or hide something: the journals, from which the
// memory is rebuilt and which name the call that is open; ledger.jsonl, or a slot would be
// run twice; spend.jsonl, or limits would let more through. Not the journal for people,
// notes_dropped.log, due.log, acts.jsonl and proxy_*.jsonl, by which nothing is decided.
// What is replaced rather than added to is as it was before the cycle:
//
//   - The memory is rebuilt, and what came of the inbox with it.
//   - approvals.yaml: the journal, which is asked before a call is carried out, says which
//     was begun. One that was asked about is withdrawn, and the model told so.
//   - origins.json is made when the journal is settled. notify.json, accepted.json and the
//     like remember what was said or found; at worst it is said again.
//   - Versions of the workspace and observations go with the workspace.
//
// # After a lost machine
//
// The next worker writes the lines that it has into the last version of the home
// ([Restore]) and leaves the word [rouse/home.LostFile] beside the journal. Under a mirror
// `rouse run` first settles such a cycle, as any that was interrupted, and then ends: the
// memory that comes of it is to be kept before another cycle relies on it.
package mirror

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"rouse/home"
)

// ErrLost says that the cycle may not go on: the home has, or may have, another holder.
var ErrLost = errors.New("the lease on the home was lost")

// Line is what was added to a file, or the whole of it.
type Line struct {
	Path  string // in the home, with slashes
	At    int64  // where Data stands in the file
	Whole bool   // Data is all of the file
	Data  []byte
}

// maxBytes bounds what one frame carries, maxHeader its first line.
const maxBytes, maxHeader = 64 << 20, 4 << 10

// header is the first line of a frame.
type header struct {
	File  string `json:"file"`
	At    int64  `json:"at,omitempty"`
	Whole bool   `json:"whole,omitempty"`
	Bytes int64  `json:"bytes"`
}

// answer is what comes back.
type answer struct {
	Lost string `json:"lost,omitempty"`
}

// check refuses what no cycle sends.
func (h header) check() error {
	switch {
	case !Mirrored(h.File):
		return fmt.Errorf("%.80q is no file that is mirrored", h.File)
	case h.At < 0 || h.Whole && h.At > 0:
		return fmt.Errorf("%s: %d is no place in a file", h.File, h.At)
	case h.Bytes < 0 || h.Bytes > maxBytes:
		return fmt.Errorf("%s: %d bytes in one frame, at most %d are taken", h.File, h.Bytes, maxBytes)
	}
	return nil
}

// Mirrored says of the name of a file in a home whether it is mirrored.
func Mirrored(name string) bool {
	h := home.Home{}
	dir, base := path.Split(name)
	if dir != h.Logs()+"/" {
		return false
	}
	return name == h.Slots() || name == h.Spend() || strings.HasSuffix(base, string(home.JournalFile)) && home.CycleOf(base) != ""
}
