package mirror_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rouse/internal/mirror"
)

// wire is a connection of which the one side has said all that it will.
type wire struct {
	io.Reader
	bytes.Buffer
}

func (w *wire) Read(p []byte) (int, error) { return w.Reader.Read(p) }

// serve gives what came of frames, and the answers.
func serve(text string, refuse error) (lines []mirror.Line, answers string, err error) {
	w := &wire{Reader: strings.NewReader(text)}
	err = mirror.Serve(w, func(l mirror.Line) error {
		lines = append(lines, l)
		return refuse
	})
	return lines, w.String(), err
}

const frame = `{"file":"logs/spend.jsonl","at":7,"bytes":3}` + "\nab\n"

func TestServe(t *testing.T) {
	tests := []struct {
		text, answers, err string
		refuse             error
		lines              int
	}{
		{text: ""},
		{text: frame + frame, answers: "{}\n{}\n", lines: 2},
		{text: `{"file":"logs/ledger.jsonl","whole":true,"bytes":0,"new":1}` + "\n", answers: "{}\n", lines: 1},
		{text: frame + frame, refuse: errors.New("epoch 8 has it"), answers: `{"lost":"epoch 8 has it"}` + "\n", err: "epoch 8", lines: 1},
		{text: frame[:len(frame)-1], err: "half a frame"},
		{text: `{"file":"logs/spend.jsonl"`, err: "no frame: unexpected EOF"},
		{text: "GET / HTTP/1.1\n", err: "no frame: invalid"},
		{text: strings.Repeat("x", 9000), err: "above 4096 bytes"},
		{text: `{"file":"logs/spend.jsonl","bytes":67108865}` + "\n", err: "at most 67108864"},
		{text: `{"file":"logs/spend.jsonl","bytes":-1}` + "\n", err: "-1 bytes"},
		{text: `{"file":"logs/spend.jsonl","at":-1,"bytes":1}` + "\n", err: "no place"},
		{text: `{"file":"logs/spend.jsonl","at":1,"whole":true,"bytes":1}` + "\n", err: "no place"},
	}
	for _, name := range []string{"", "logs/", "logs", "/logs/spend.jsonl", "logs/../logs/spend.jsonl", "logs/../../logs/spend.jsonl", "logs//spend.jsonl", "spend.jsonl", "scratchpad/active.yaml", "logs/made/spend.jsonl", "logs/cycle_20260401_150154.log", "logs/cycle_x.jsonl", "logs/spend.jsonl/x"} {
		tests = append(tests, struct {
			text, answers, err string
			refuse             error
			lines              int
		}{text: fmt.Sprintf(`{"file":%q,"bytes":1}`+"\nx", name), err: "no file that is mirrored"})
	}
	for _, tt := range tests {
		lines, answers, err := serve(tt.text, tt.refuse)
		if tt.err != "" && tt.refuse == nil {
			tt.answers = ""
			if !strings.HasPrefix(answers, `{"lost":`) {
				t.Errorf("%.60q: answered %q", tt.text, answers)
			}
			answers = ""
		}
		if len(lines) != tt.lines || answers != tt.answers || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%.60q: %d lines, %q, %v", tt.text, len(lines), answers, err)
		}
	}
}

func FuzzServe(f *testing.F) {
	f.Add(frame + frame)
	f.Add(`{"file":"logs/ledger.jsonl","whole":true,"bytes":2}` + "\n{}")
	f.Fuzz(func(t *testing.T, text string) {
		lines, answers, err := serve(text, nil)
		n := 0
		for _, l := range lines {
			n += len(l.Data)
			if !mirror.Mirrored(l.Path) || !filepath.IsLocal(l.Path) || l.At < 0 {
				t.Errorf("%+v is given on", l)
			}
		}
		if n > len(text) || strings.Count(answers, "{}\n") != len(lines) || (err != nil) != strings.Contains(answers, "lost") {
			t.Errorf("%d lines of %d bytes, answered %q: %v", len(lines), n, answers, err)
		}
	})
}

// add is a line of the ledger of spending.
func add(at int, text string) mirror.Line {
	return mirror.Line{Path: "logs/spend.jsonl", At: int64(at), Data: []byte(text)}
}

func TestRestore(t *testing.T) {
	whole := add(0, "W")
	whole.Whole = true
	for _, tt := range []struct {
		lines     []mirror.Line
		want, err string
	}{
		{want: "old"},
		{lines: []mirror.Line{add(3, " new"), add(7, "er")}, want: "old newer"},
		{lines: []mirror.Line{add(3, " new"), whole, add(1, "X")}, want: "WX"},
		{lines: []mirror.Line{add(4, "x")}, want: "old", err: "restore logs/spend.jsonl: a line stands at byte 4 and the file has 3"},
		{lines: []mirror.Line{{Path: "logs/cycle_20260401_150154.jsonl", Data: []byte("{}\n")}}, want: "old"},
		{lines: []mirror.Line{{Path: "logs/cycle_20260401_150154.jsonl", At: 1}}, want: "old", err: "missing"},
		{lines: []mirror.Line{{Path: "scratchpad/active.yaml"}}, want: "old", err: "no file that is mirrored"},
	} {
		dir := homeWith(t, "old")
		for range 2 { // a second time changes nothing
			if err := mirror.Restore(dir, tt.lines); (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%v: %v", tt.lines, err)
			}
			if got, err := os.ReadFile(dir + "/logs/spend.jsonl"); string(got) != tt.want || err != nil {
				t.Errorf("%v: %q, %v", tt.lines, got, err)
			}
		}
	}
}

// homeWith is a folder with a ledger of spending.
func homeWith(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(dir+"/logs", 0o700), os.WriteFile(dir+"/logs/spend.jsonl", []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// No link leads a line out of its folder, nor to another file in it.
func TestRestoreFollowsNoLink(t *testing.T) {
	for _, link := range []string{"logs", "logs/spend.jsonl"} {
		for _, whole := range []bool{false, true} {
			dir, other := homeWith(t, "old"), homeWith(t, "old")
			if err := errors.Join(os.RemoveAll(filepath.Join(dir, link)), os.Symlink(filepath.Join(other, link), filepath.Join(dir, link))); err != nil {
				t.Fatal(err)
			}
			err := mirror.Restore(dir, []mirror.Line{{Path: "logs/spend.jsonl", Whole: whole, Data: []byte("new")}})
			if err == nil || !strings.Contains(err.Error(), "no link is followed") {
				t.Errorf("%s, whole %v: %v", link, whole, err)
			}
			if got, _ := os.ReadFile(other + "/logs/spend.jsonl"); string(got) != "old" {
				t.Errorf("%s: %q is written through it", link, got)
			}
		}
	}
}
