// Package home is the folder in which an agent lives: the names of its files, the
// lock on it, and its memory as it is found there. What is inside one notebook's
// folder, and the databases of observations, are named by who alone reads them.
package home

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"rouse/internal/disk"
)

// Home is a folder with rules.md, in which an agent lives; one in which a cycle
// slept stays a home without them. It is the only type that knows the names of files.
type Home struct {
	Dir string
	// Elsewhere says that this is a copy of a home of which a cycle is awake on another machine.
	Elsewhere bool

	listed *listing // unless nil, the cycles as they were listed once
	fleet  string   // its name in the fleet that had it when it was opened
}

// Open checks that dir is a home, and of a version that this program knows.
func Open(dir string) (Home, error) {
	h, err := At(dir)
	if err != nil {
		return Home{}, err
	}
	if _, h.fleet, err = h.stand(); errors.As(err, new(*StateError)) {
		return Home{}, err
	}
	return h, nil
}

// At checks that dir is a home, of whatever version.
func At(dir string) (Home, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Home{}, fmt.Errorf("home %s: %w", dir, err)
	}
	h := Home{Dir: abs}
	_, err = os.Stat(h.Rules())
	switch {
	case errors.Is(err, fs.ErrNotExist) && !h.lived():
		return Home{}, fmt.Errorf("%s is not a home: it has no rules.md; make one with: rouse init %s", dir, dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return Home{}, fmt.Errorf("home: %w", err)
	}
	return h, nil
}

// lived says that a cycle slept in the home.
func (h Home) lived() bool { return disk.Exists(h.VersionFile()) || disk.Exists(h.Active()) }

// Rules is the system prompt.
func (h Home) Rules() string { return filepath.Join(h.Dir, "rules.md") }

// maxRules is the largest rules.md, in bytes.
const maxRules = 1 << 20

// ReadRules reads the system prompt; an empty one is an error. What is no regular
// file, such as a FIFO, is not waited for.
func (h Home) ReadRules() (string, error) {
	data, err := disk.ReadSmall(h.Rules(), maxRules)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errors.New("rules.md is gone")
	case err != nil:
		return "", fmt.Errorf("rules.md: %w", err)
	case len(bytes.TrimSpace(data)) == 0:
		return "", errors.New("rules.md is empty")
	}
	return string(data), nil
}

// Config is the configuration.
func (h Home) Config() string { return filepath.Join(h.Dir, "rouse.yaml") }

// Memory is the folder of the state and its snapshots.
func (h Home) Memory() string { return filepath.Join(h.Dir, "scratchpad") }

// Active is the state.
func (h Home) Active() string { return filepath.Join(h.Memory(), "active.yaml") }

// Initial is the state that a home without one starts from.
func (h Home) Initial() string { return filepath.Join(h.Memory(), "initial.yaml") }

// Before is the snapshot of the state at wake.
func (h Home) Before(cycle string) string { return h.Left(BeforeFile, cycle) }

// After is the snapshot of the state at sleep.
func (h Home) After(cycle string) string { return h.Left(AfterFile, cycle) }

// Unproven is a state of a cycle that its journal does not prove.
func (h Home) Unproven(cycle string) string { return h.Left(UnprovenFile, cycle) }

// Reset is where a reset puts the state; id has the form of a cycle's.
func (h Home) Reset(id string) string { return h.Left(resetFile, id) }

// Inbox is the folder of tasks that people left.
func (h Home) Inbox() string { return filepath.Join(h.Dir, "inbox") }

// Logs is the folder of the journals.
func (h Home) Logs() string { return filepath.Join(h.Dir, "logs") }

// Journal is the record of a cycle.
func (h Home) Journal(cycle string) string { return h.Left(JournalFile, cycle) }

// Log is the record of a cycle for people.
func (h Home) Log(cycle string) string { return h.Left(LogFile, cycle) }

// DroppedNotes has what became too much for the notes of the memory.
func (h Home) DroppedNotes() string { return filepath.Join(h.Logs(), droppedNotes) }

// Archive has the finished tasks that left the memory, one a line. Like the memory
// it is hidden from tools.
func (h Home) Archive() string { return filepath.Join(h.Memory(), "completed.jsonl") }

// Notebooks is the folder of the notebooks.
func (h Home) Notebooks() string { return filepath.Join(h.Dir, "notebooks") }

// IdleRecord is what the last cycle that found nothing to do left.
func (h Home) IdleRecord() string { return filepath.Join(h.Logs(), "idle.json") }

// Resumed names the newest cycle when a person last ended a rest.
func (h Home) Resumed() string { return filepath.Join(h.Logs(), "resumed") }

// Machine is what was found out of the machine, for the sandbox.
func (h Home) Machine() string { return filepath.Join(h.Logs(), "sandbox.json") }

// Accepted is what a person accepted by a verb since the last cycle.
func (h Home) Accepted() string { return filepath.Join(h.Logs(), "accepted.json") }

// Models is what was found out about models.
func (h Home) Models() string { return filepath.Join(h.Logs(), "models.json") }

// RetentionMark is the file whose age tells when old cycles were last removed.
func (h Home) RetentionMark() string { return filepath.Join(h.Logs(), "retention") }

// DueLog has what the machine's scheduler caught of its calls.
func (h Home) DueLog() string { return filepath.Join(h.Logs(), dueLog) }

// ProxyLog has the notes that came with the calls of a server that is stood before.
func (h Home) ProxyLog(server string) string {
	return filepath.Join(h.Logs(), proxyPrefix+server+proxySuffix)
}

// Search is the index of what cycles wrote and did, and SearchFiles are all that may
// be on the disk of it: it is made anew where it is not there.
func (h Home) Search() string { return filepath.Join(h.Logs(), "search.db") }

// SearchFiles are the index and the file by which SQLite takes back half a change of
// it. They go together.
func (h Home) SearchFiles() []string { return []string{h.Search() + "-journal", h.Search()} }

// DropSearch removes the index.
func (h Home) DropSearch(f disk.FS) error {
	for _, path := range h.SearchFiles() {
		if err := f.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Acts has who did what on the page.
func (h Home) Acts() string { return filepath.Join(h.Logs(), acts) }

// Aside is behind the name of a log that grew too large and was put aside.
const Aside = ".1"

const dueLog, droppedNotes, acts, proxyPrefix, proxySuffix = "due.log", "notes_dropped.log", "acts.jsonl", "proxy_", ".jsonl"

// Grows says of a file's name in the logs whether that file only grows, and is of
// no cycle.
func Grows(name string) bool {
	return name == dueLog || name == droppedNotes || name == acts || strings.HasPrefix(name, proxyPrefix) && strings.HasSuffix(name, proxySuffix)
}

// Prices says what models cost.
func (h Home) Prices() string { return filepath.Join(h.Dir, "prices.yaml") }

// Servers is the configuration of MCP servers.
func (h Home) Servers() string { return filepath.Join(h.Dir, ".mcp.json") }

// Approvals has the calls that wait for a person, and ApprovalsLock is the lock of that.
func (h Home) Approvals() string { return filepath.Join(h.Dir, "approvals.yaml") }

// ApprovalsLock is locked by who changes it.
func (h Home) ApprovalsLock() string { return filepath.Join(h.Logs(), "approvals.lock") }

// ServerPins has the lists of tools that were accepted of MCP servers.
func (h Home) ServerPins() string { return filepath.Join(h.Dir, ".mcp.lock.json") }

// Origins says which files, notebooks and cycles carry text from outside.
func (h Home) Origins() string { return filepath.Join(h.Logs(), "origins.json") }

// Slots is the ledger of the home's schedule.
func (h Home) Slots() string { return filepath.Join(h.Logs(), "ledger.jsonl") }

// Spend is the ledger of what was spent.
func (h Home) Spend() string { return filepath.Join(h.Logs(), "spend.jsonl") }

// Told has whom was told of what.
func (h Home) Told() string { return filepath.Join(h.Logs(), "notify.json") }

// Received is the folder with what hooks received.
func (h Home) Received() string { return filepath.Join(h.Logs(), "hooks") }

// Shrunk is the file whose age tells when a cycle last cut down what a person wrote.
func (h Home) Shrunk() string { return filepath.Join(h.Logs(), "shrunk") }

// Looked is the file whose age tells when a person last looked at the home.
func (h Home) Looked() string { return filepath.Join(h.Logs(), "looked") }

// Reported says of which time the last report was sent.
func (h Home) Reported() string { return filepath.Join(h.Logs(), "reported") }

// Said begins the names of the empty files that remember what was said of the home,
// where nothing else can be kept, and which need not lie in it.
func (h Home) Said() string { return fmt.Sprintf(".rouse_%.4x_", sha256.Sum256([]byte(h.Dir))) }

// Stop is the file that stops the home while it is there, whoever made it.
func (h Home) Stop() string { return filepath.Join(h.Dir, "STOP") }

// Telemetry says how far monitoring elsewhere was told what cycles did.
func (h Home) Telemetry() string { return filepath.Join(h.Logs(), "telemetry.json") }

// Made is the folder with copies of what cycles were made of.
func (h Home) Made() string { return filepath.Join(h.Logs(), "made") }

// History is the folder with the versions of the workspace.
func (h Home) History() string { return filepath.Join(h.Logs(), "history") }

// Bin is the folder of the home's scripts.
func (h Home) Bin() string { return filepath.Join(h.Dir, "bin") }

// Program is the rouse that bin/run.sh builds.
func (h Home) Program() string { return filepath.Join(h.Bin(), "rouse") }

// Temp is the folder of the temporary files of tools.
func (h Home) Temp() string { return filepath.Join(h.Dir, "tmp") }

// Cache is the folder of what tools keep from one cycle to the next, such as
// packages that were downloaded.
func (h Home) Cache() string { return filepath.Join(h.Dir, "cache") }

// Skills is the folder of its skills.
func (h Home) Skills() string { return filepath.Join(h.Dir, "skills") }

// Served is the folder of the notebooks that are run for others.
func (h Home) Served() string { return filepath.Join(h.Dir, "served") }

// Vault holds the credentials, encrypted.
func (h Home) Vault() string { return filepath.Join(h.Dir, "vault.age") }

// VaultKey is the key to the vault.
func (h Home) VaultKey() string { return filepath.Join(h.Dir, "vault.key") }

// Env holds variables as lines NAME=value.
func (h Home) Env() string { return filepath.Join(h.Dir, ".env") }

// Folder is a folder that the configuration names, relative to the home.
func (h Home) Folder(dir string) string {
	if filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return filepath.Join(h.Dir, dir)
}

// Rel shortens a path inside the home for messages.
func (h Home) Rel(path string) string {
	if rel, err := filepath.Rel(h.Dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}
