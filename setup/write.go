package setup

import (
	"io/fs"
	"os"

	"rouse/agent/made"
	"rouse/agent/trust"
	"rouse/home"
	"rouse/internal/disk"
)

// WriteConfig writes rouse.yaml anew, for a verb. Who may read it stays, and a link
// to it too. The next cycle does not tell the person of this change of theirs, but
// of one by another hand that was there before.
func (s *Setup) WriteConfig(text []byte) error {
	if err := s.Home.Wakes(); err != nil {
		return err
	}
	path, perm := home.Resolved(s.Home.Config()), fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		perm = info.Mode().Perm()
	}
	name := s.Home.Rel(s.Home.Config())
	old, _ := os.ReadFile(path) // one that cannot be read is not the one of the last cycle
	known := s.known()
	if err := disk.Replace(disk.OS{}, path, text, perm); err != nil {
		return err
	}
	if was := s.sum(old); known.Cycle == "" || was != known.Left[name] && !known.Written(name, was) {
		return nil
	}
	return trust.Write(s.Home, disk.OS{}, name, s.sum(text))
}

// sum is the hash of a file as journals have it, "" of none.
func (s *Setup) sum(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	return made.Sum([]byte(s.Hidden().String(string(text))))
}
