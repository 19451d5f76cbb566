package setup

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"rouse/internal/disk"
	"rouse/internal/text"
)

// reported is what is remembered of the last report.
type reported struct {
	Slot  time.Time `json:"slot"`            // up to then reports are accounted for
	Since time.Time `json:"since"`           // from when on the next one tells
	Error string    `json:"error,omitempty"` // why the last one was not sent
}

// NextReport is when a report is due, in the past where nobody was there, and since when it
// tells; zero where none is to be sent. The first one is due after rouse.yaml asked for it.
func (s *Setup) NextReport() (at, since time.Time) {
	if len(s.Config.Report.At) == 0 {
		return at, since
	}
	r := s.reported()
	for _, e := range s.Config.Report.At {
		if next := e.Next(r.Slot); at.IsZero() || !next.IsZero() && next.Before(at) {
			at = next
		}
	}
	return at, r.Since
}

func (s *Setup) reported() (r reported) {
	data, err := os.ReadFile(s.Home.Reported())
	if err != nil || json.Unmarshal(data, &r) != nil {
		r = reported{Slot: s.Now(), Since: s.Now().AddDate(0, 0, -1)}
		if info, err := os.Stat(s.Home.Config()); err == nil {
			r.Slot = info.ModTime()
		}
	}
	return r
}

// Reported puts down that the report that was due is over, and why it was not sent. What
// happened since then the next one tells.
func (s *Setup) Reported(since time.Time, failed error) error {
	r := reported{Slot: s.Now(), Since: since}
	if failed != nil {
		r.Error = text.Line(s.Redactor().String(failed.Error()), 300)
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return disk.Replace(disk.OS{}, s.Home.Reported(), data, 0o600)
}

// Unsent begins what the status says of a report that was not sent.
const Unsent = "the report of "

// Unreported says that a report was not sent, and why.
func (s *Setup) Unreported() error {
	at, _ := s.NextReport()
	if at.IsZero() {
		return nil
	}
	if r := s.reported(); r.Error != "" {
		return fmt.Errorf(Unsent+"%s was not sent: %s", Clock(r.Slot), r.Error)
	}
	if s.Now().Sub(at) < time.Hour {
		return nil
	}
	return fmt.Errorf(Unsent+"%s was not sent, as nobody woke the home since: rouse install or rouse schedule do", Clock(at))
}
