package page

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"rouse/agent"
	"rouse/agent/history"
	"rouse/setup/report"
)

// Of what changed a page shows so many files, and so many lines of their texts.
const (
	filesShown = 500
	diffsShown = 3000
)

// diffData is what the page of a cycle's changes shows.
type diffData struct {
	Cycle     string
	Memory    []report.Key
	Files     []fileDiff
	More      int // files that are not shown
	Variables []agent.Names
	Missing   []string // what is not known
}

// fileDiff is one file that changed.
type fileDiff struct {
	Path, Kind, Size string
	Why              string // there are no lines
	Lines            []pair
}

// pair is a line as it was, and as it is.
type pair struct{ Was, Is, How string }

// showDiff shows memory and files before and after a cycle.
func (v *visit) showDiff() (sheet, error) {
	id, err := v.cycle()
	if err != nil {
		return sheet{}, err
	}
	data, h := &diffData{Cycle: id}, v.home.Home
	keys, err := agent.MemoryOver(h, id, id)
	data.miss(v, err)
	moved, err := agent.Moved(h, id)
	data.miss(v, err)
	data.Memory = report.Keys(keys, moved)
	data.Variables, err = agent.Variables(h, id, id)
	data.miss(v, err)
	files, err := agent.Files(h, id, id)
	if !errors.Is(err, history.ErrNone) || len(files) > 0 {
		data.miss(v, err)
	} else {
		data.Missing = append(data.Missing, "no version of the files is kept from then")
	}
	shown := 0
	for i, c := range files {
		if i == filesShown {
			data.More = len(files) - i
			break
		}
		f := v.fileDiff(c, shown < diffsShown)
		shown += len(f.Lines)
		data.Files = append(data.Files, f)
	}
	return sheet{template: "diff", title: "Before and after cycle " + id, data: data}, nil
}

func (d *diffData) miss(v *visit, err error) {
	if err != nil {
		d.Missing = append(d.Missing, v.hide(err.Error()))
	}
}

// fileDiff compares the text of a file, if there is still room for it.
func (v *visit) fileDiff(c history.Change, room bool) fileDiff {
	f := fileDiff{Path: c.Path, Kind: c.Kind(), Size: size(c.Was) + " → " + size(c.Is), Why: "not compared here: there is too much of it on this page; rouse diff --files --unified does"}
	if !room {
		return f
	}
	var was, is string
	if was, is, f.Why = agent.Texts(v.home.Home, c); f.Why == "" {
		hide := v.home.Hidden()
		f.Lines = sides(hide.String(was), hide.String(is))
	}
	return f
}

func size(e *history.Entry) string {
	switch {
	case e == nil:
		return "nothing"
	case e.Kind != history.File:
		return string(e.Kind)
	}
	return fmt.Sprintf("%d bytes", e.Size)
}

// sides puts the lines that differ, and some around them, beside each other.
func sides(was, is string) (list []pair) {
	gone := 0 // the first line of the list that is gone, and has nothing beside it
	for i, line := range strings.Split(strings.TrimSuffix(udiff.Unified("", "", was, is), "\n"), "\n") {
		if i < 2 || line == "" {
			continue // the names
		}
		rest := line[1:]
		switch line[0] {
		case '-':
			list = append(list, pair{rest, "", "removed"})
			continue
		case '+':
			if gone < len(list) && list[gone].How == "removed" {
				list[gone].Is, list[gone].How = rest, "changed"
				gone++
				continue
			}
			list = append(list, pair{"", rest, "added"})
		case '@':
			list = append(list, pair{line, line, "quiet"})
		case ' ':
			list = append(list, pair{rest, rest, ""})
		}
		gone = len(list)
	}
	return list
}
