package mirror

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// serve gives what came of frames, and the answers.
func serve(text string, refuse error) (lines []Line, answers string, err error) {
	var b strings.Builder
	err = Serve(struct {
		io.Reader
		io.Writer
	}{strings.NewReader(text), &b}, func(l Line) error {
		lines = append(lines, l)
		return refuse
	})
	return lines, b.String(), err
}

const frame = `{"file":"logs/spend.jsonl","at":7,"bytes":3}` + "\nab\n"

func TestServe(t *testing.T) {
	type test struct {
		text, answers, err string
		lines              int
	}
	tests := []test{
		{},
		{frame + frame, "{}\n{}\n", "", 2},
		{`{"file":"logs/ledger.jsonl","whole":true,"bytes":0,"new":1}` + "\n", "{}\n", "", 1},
		{frame + frame[:len(frame)-1], "{}\n", "half a frame", 1},
		{`{"file":"logs/spend.jsonl"`, "", "no frame: EOF", 0},
		{"GET / HTTP/1.1\n", "", "no frame: invalid", 0},
		{strings.Repeat("x", 9000), "", "buffer full", 0},
		{`{"file":"logs/spend.jsonl","bytes":67108865}` + "\n", "", "at most 67108864", 0},
		{`{"file":"logs/spend.jsonl","bytes":-1}` + "\n", "", "-1 bytes", 0},
		{`{"file":"logs/spend.jsonl","at":-1,"bytes":1}` + "\n", "", "no place", 0},
		{`{"file":"logs/spend.jsonl","at":1,"whole":true,"bytes":1}` + "\n", "", "no place", 0},
	}
	for _, name := range []string{"", "logs/", "logs", "/logs/spend.jsonl", "logs/../logs/spend.jsonl", "logs/../../logs/spend.jsonl", "logs//spend.jsonl", "spend.jsonl", "scratchpad/active.yaml", "logs/made/spend.jsonl", "logs/cycle_20260401_150154.log", "logs/cycle_x.jsonl", "logs/spend.jsonl/x"} {
		tests = append(tests, test{fmt.Sprintf(`{"file":%q,"bytes":1}`+"\nx", name), "", "no file that is mirrored", 0})
	}
	for _, tt := range tests {
		lines, answers, err := serve(tt.text, nil)
		answers, lost, _ := strings.Cut(answers, `{"lost":`)
		if len(lines) != tt.lines || answers != tt.answers || fmt.Sprint(err) != "<nil>" != (tt.err != "") || !strings.Contains(lost+fmt.Sprint(err), tt.err) || (lost == "") != (tt.err == "") {
			t.Errorf("%.60q: %d lines, %q, lost %q, %v", tt.text, len(lines), answers, lost, err)
		}
	}
	refusal := errors.New("epoch 8 has it")
	if lines, answers, err := serve(frame+frame, refusal); err != refusal || len(lines) != 1 || answers != `{"lost":"epoch 8 has it"}`+"\n" {
		t.Errorf("refused: %d lines, %q, %v", len(lines), answers, err)
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
			if !Mirrored(l.Path) || !filepath.IsLocal(l.Path) || l.At < 0 {
				t.Errorf("%+v is given on", l)
			}
		}
		if n > len(text) || strings.Count(answers, "{}\n") != len(lines) || (err != nil) != strings.Contains(answers, "lost") {
			t.Errorf("%d lines of %d bytes, answered %q: %v", len(lines), n, answers, err)
		}
	})
}

// No link leads a line out of its folder, nor to another file in it. A line whose place is
// not there is an error, and done again the same comes of all.
func TestRestore(t *testing.T) {
	add := func(at int, text string) Line {
		return Line{Path: "logs/spend.jsonl", At: int64(at), Data: []byte(text)}
	}
	whole := Line{Path: "logs/spend.jsonl", Whole: true, Data: []byte("W")}
	for _, tt := range []struct {
		link, want, err string
		lines           []Line
	}{
		{"", "old", "", nil},
		{"", "old newer", "", []Line{add(3, " new"), add(7, "er")}},
		{"", "WX", "", []Line{add(3, " new"), whole, add(1, "X")}},
		{"", "old", "", []Line{{Path: "logs/cycle_20260401_150154.jsonl", Data: []byte("{}\n")}}},
		{"", "{}\n", "", []Line{add(0, "{}\n{\"event\":\"sleep\"}\n")}}, // as a journal
		{"", "old", "restore logs/spend.jsonl: a line stands at byte 4 and the file has 3", []Line{add(4, "x")}},
		{"", "old", "no file that is mirrored", []Line{{Path: "scratchpad/active.yaml"}}},
		{"logs", "old", "no link is followed", []Line{add(3, "x")}},
		{"logs/spend.jsonl", "old", "no link is followed", []Line{add(3, "x")}},
		{"logs/spend.jsonl", "old", "no link is followed", []Line{whole}},
	} {
		dir, at := t.TempDir(), t.TempDir()
		err := errors.Join(os.Mkdir(at+"/logs", 0o700), os.WriteFile(at+"/logs/spend.jsonl", []byte("old"), 0o600))
		if tt.link == "" {
			dir = at
		} else {
			err = errors.Join(err, os.MkdirAll(filepath.Dir(filepath.Join(dir, tt.link)), 0o700), os.Symlink(filepath.Join(at, tt.link), filepath.Join(dir, tt.link)))
		}
		for range 2 {
			if failed := Restore(dir, tt.lines); err != nil || (failed == nil) != (tt.err == "") || failed != nil && !strings.Contains(failed.Error(), tt.err) {
				t.Errorf("%+v: %v, %v", tt, failed, err)
			}
			if got, err := os.ReadFile(at + "/logs/spend.jsonl"); string(got) != tt.want || err != nil {
				t.Errorf("%+v: %q, %v", tt, got, err)
			}
		}
	}
}
