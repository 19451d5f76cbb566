package page

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"rouse/journal"
)

const (
	mostStreams = 100              // pages that are kept up to date at once
	patience    = 10 * time.Second // that a stream has with who reads it
	breath      = 15 * time.Second // after which a stream without rows says that it is there
	glance      = 250 * time.Millisecond
)

// follow sends the rows of a cycle as they come, and again as they become others, until it
// sleeps. Who lost the connection goes on after the line that the last row was of.
func (v *visit) follow() (sheet, error) {
	id, err := v.cycle()
	if err != nil {
		return sheet{}, err
	}
	defer v.streams.Add(-1)
	if err := v.streamed(); err != nil {
		return sheet{}, err
	}
	d, err := v.drawing(id)
	if err != nil {
		return sheet{}, err
	}
	defer d.file.Close()
	d.from, d.until = time.UnixMilli(v.number("from", 0)), time.UnixMilli(v.number("until", 0))
	after := v.number("after", 0)
	if n, err := strconv.ParseInt(v.Header.Get("Last-Event-ID"), 10, 64); err == nil {
		after = n
	}
	s := &stream{visit: v, conn: http.NewResponseController(v.w)}
	if err := s.begin(); err == nil {
		_ = s.rows(d, int(after)) // who left does not hear it
	}
	return sheet{done: true}, nil
}

// streamed counts a stream, of which there may be too many.
func (v *visit) streamed() error {
	if v.streams.Add(1) > mostStreams {
		return wrong{http.StatusServiceUnavailable, errors.New("too many pages are being followed: close some, and load this one again")}
	}
	return nil
}

// stream is the events of one page.
type stream struct {
	*visit
	conn *http.ResponseController
	sent time.Time
	err  error
}

func (s *stream) begin() error {
	_ = s.conn.SetReadDeadline(time.Time{}) // of servers: a stream lasts as long as it does
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.Header().Set("X-Accel-Buffering", "no")
	s.write("retry: 2000\n\n")
	return s.flush()
}

// rows sends what comes after a line.
func (s *stream) rows(d *drawing, after int) error {
	t, err := s.templates("cycle")
	if err != nil {
		return err
	}
	w := &waterfall{}
	for m, err := range journal.Scan(&journal.Growing{File: d.file, Follow: d.owner.PID != 0 || s.home.Home.Elsewhere, Owner: d.owner, Wait: s.wait}) {
		if err != nil {
			return err
		}
		l := w.add(m)
		if l == nil || m.Number <= after {
			continue
		}
		r := d.row(l, w.isOpen(l))
		d.draw(&r)
		var b bytes.Buffer
		if err := t.ExecuteTemplate(&b, "row", r); err != nil {
			return err
		}
		if s.event("add", m.Number, b.String()); s.err != nil || m.Event == "sleep" {
			break
		}
	}
	if s.err == nil && s.Context().Err() == nil {
		s.event("end", w.last, "end")
	}
	return s.flush()
}

func (s *stream) event(name string, id int, data string) {
	s.write(fmt.Sprintf("id: %d\nevent: %s\ndata: %s\n\n", id, name, strings.ReplaceAll(data, "\n", "\ndata: ")))
}

func (s *stream) write(text string) {
	if s.err == nil {
		_ = s.conn.SetWriteDeadline(time.Now().Add(patience))
		_, s.err = s.w.Write([]byte(text))
		s.sent = time.Now()
	}
}

func (s *stream) flush() error {
	if s.err == nil {
		s.err = s.conn.Flush()
	}
	return s.err
}

// wait waits for more lines, unless nobody reads them any more.
func (s *stream) wait() bool {
	if time.Since(s.sent) > breath {
		s.write(":\n\n")
	}
	if s.flush() != nil {
		return false
	}
	select {
	case <-s.Context().Done():
		return false
	case <-time.After(glance):
		return s.Fleet == nil || s.stays()
	}
}
