package home

import (
	"path/filepath"
	"slices"
	"strings"
)

// Forgetting is the file that is there while a value is taken out of the home.
func (h Home) Forgetting() string { return filepath.Join(h.Logs(), "forget.json") }

// Place says in words what a file of a home is, and whether it is Rouse's or the agent's:
// else a person wrote it.
func (h Home) Place(path string) (place string, own bool) {
	rel := filepath.ToSlash(h.Rel(path))
	top, _, _ := strings.Cut(rel, "/")
	id, kind, ok := parse([]byte(filepath.Base(rel)))
	switch {
	case path == h.Active():
		return "the memory", true
	case ok && path == h.Left(JournalFile, string(id)):
		return "journals of cycles", true
	case slices.Contains(h.SearchFiles(), path):
		return "index of the search", true
	case ok && path == h.Left(kind, string(id)) && !kind.inLogs():
		return "snapshots of the memory", true
	case strings.HasPrefix(path, strings.TrimSuffix(h.Archive(), proxySuffix)):
		return "archive of tasks", true
	case filepath.Dir(path) == h.Made():
		return "copies of rules and configuration", true
	case slices.Contains(append(ours[:], "workspace", "tmp", "cache", "inbox", filepath.Base(h.Approvals()), "STOP"), top):
		return top, true
	}
	return rel, false
}

// Foreign says that a folder of the home is not Rouse's to look into: a repository, the
// environment of a notebook.
func (h Home) Foreign(dir string) bool {
	return filepath.Base(dir) == ".git" || filepath.Dir(filepath.Dir(dir)) == h.Notebooks() && strings.HasPrefix(filepath.Base(dir), "venv")
}
