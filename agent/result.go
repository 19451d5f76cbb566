package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"rouse/agent/notify"
	"rouse/journal"
)

// Result is a file that a task makes, and the sinks that it is sent to.
type Result struct {
	Task string
	File string // in the workspace
	To   []string
	// Subject is that of the message; "" names the home and the file.
	Subject string
}

// sendResults puts down what the task of a cycle made, before the cycle sleeps: one that is
// killed after that has it sent by the next wake.
func (a *Agent) sendResults(w *woken, end journal.End) {
	verdict := w.verdict(end)
	if a.Notify == nil || verdict != journal.TaskProven && verdict != journal.TaskClaimed {
		return
	}
	for _, r := range a.Waking.Results {
		if same(a.Redact.String(r.Task))(w.proof.about) {
			a.sendResult(w, r) // how that goes is in the notifications' own state
		}
	}
}

func (a *Agent) sendResult(w *woken, r Result) {
	ctx := context.Background()
	m := notify.Message{
		Key: "result " + w.id + " " + r.File, Kind: notify.Result, Cycle: w.id, To: r.To,
		Subject: cmp.Or(r.Subject, filepath.Base(a.Home.Dir)+": "+r.File),
	}
	data, at, err := readResult(a.Workspace, r.File)
	m.Sum = fmt.Sprintf("result %s %x", r.File, sha256.Sum256(data))
	if err == nil && at.Before(w.began.Add(-coarse)) && a.Notify.Sent(m.Sum) {
		err = errors.New("the task ended, and the file is the one that was sent before; the task must say that it is to be written anew")
	}
	switch ext := filepath.Ext(r.File); {
	case (ext == ".md" || ext == ".txt" || ext == "") && utf8.Valid(data):
		m.Text = string(data)
	default:
		m.Text = fmt.Sprintf("%s, %d bytes, of cycle %s", r.File, len(data), w.id)
		m.Attachments = []notify.Attachment{{Name: filepath.Base(r.File), Data: data}}
	}
	if err != nil {
		_ = a.Notify.Unsent(ctx, m, err)
		return
	}
	_ = a.Notify.Send(ctx, m)
}

// maxResult bounds a file that is sent, in bytes.
const maxResult = notify.MaxMessage / 2

// readResult reads a regular file below a folder, to which no link leads from outside, and
// says when it was written.
func readResult(dir, file string) (data []byte, at time.Time, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, at, err
	}
	defer root.Close()
	f, err := root.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK, 0) // a FIFO is not waited for
	if errors.Is(err, fs.ErrNotExist) {
		return nil, at, errors.New("the task ended without writing it; give the task a check, such as check: {file: " + file + ", newer: true}")
	} else if err != nil {
		return nil, at, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxResult) {
		err = fmt.Errorf("it is no regular file of at most %d MiB", maxResult>>20)
	}
	if err != nil {
		return nil, at, err
	}
	data, err = io.ReadAll(io.LimitReader(f, maxResult))
	return data, info.ModTime(), cmp.Or(err, f.Close())
}
