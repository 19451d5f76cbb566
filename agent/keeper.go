package agent

import (
	"time"

	"rouse/agent/history"
	"rouse/agent/notify"
	"rouse/agent/source"
	"rouse/agent/trust"
	"rouse/home"
	"rouse/internal/clock"
	"rouse/internal/disk"
	"rouse/internal/redact"
	"rouse/journal"
)

// Keeper keeps the memory of a home through wake and sleep: what it takes to name
// a cycle, to write down what it does, to settle it where it was interrupted and
// to save what it made of the memory. Its fields are set once.
type Keeper struct {
	Home   home.Home
	Redact *redact.Redactor // nil hides nothing
	Disk   disk.FS          // nil is the machine's
	// Now is the wall clock; nil is time.Now.
	Now func() time.Time
	// Workspace is where tools work.
	Workspace string
	// History keeps versions of the workspace; nil does not.
	History *history.Store
	// Sources says where results came from, and what cycles leave that carries it; nil is a
	// home without a posture.
	Sources *source.Sources
	// Variables are those that each notebook has saved; nil is none.
	Variables func() map[string][]string
	// Mark is in the environment of every process that the cycle's tools start.
	Mark string
	// NotesMax bounds the notes of the memory at sleep, in bytes; 0 does not.
	NotesMax int
	// CompletedMax bounds the finished tasks of the memory at sleep; 0 does not.
	CompletedMax int
	// Version is the binary's, and Config the configuration that holds, for people.
	Version string
	Config  []byte
	// Walled says that tools cannot write the memory's file.
	Walled bool
	// Sandbox says what confines the processes of tools, in a few words.
	Sandbox string
	// Found is what decides where the agent's words go and which programs are its
	// servers; a cycle refuses what another hand has changed.
	Found trust.Found
	// Notify tells people; nil is nobody.
	Notify *notify.Notifier
	// Watch, unless nil, is told of each event as it is journalled.
	Watch func(journal.Event)

	seen seen
}

func (k *Keeper) now() time.Time { return clock.Now(k.Now) }

func (k *Keeper) disk() disk.FS { return disk.Or(k.Disk) }
