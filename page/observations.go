package page

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"rouse/home"
	"rouse/scratchpad/observation"
	"rouse/setup"
)

// What is shown at once of observations, and of one: so many lines, or of a longer line
// characters, and never more bytes.
const (
	entriesShown = 50
	linesShown   = 200
	charsShown   = 16 << 10
	bytesShown   = 256 << 10
	matchesShown = 100
	largestShown = 16 << 20 // of pictures
)

// observations is a page of the list of them.
type observations struct {
	Entries     []observation.Entry
	Kinds       []observation.Kind
	Cycle, Kind string
	Newer       int64 // how many are passed over for the page before this one
	Older       int64 // and for that after it, 0 for none
	Skipped     int64
}

// listObservations shows what is kept of large outputs.
func (v *visit) listObservations() (sheet, error) {
	d := observations{Cycle: v.param("cycle"), Kind: v.param("kind"), Skipped: v.number("skip", 0)}
	d.Kinds = []observation.Kind{observation.Text, observation.JSON, observation.CSV, observation.TSV, observation.HTML, observation.Log, observation.Binary}
	if d.Cycle != "" && !home.ValidCycle(d.Cycle) {
		return sheet{}, wrong{http.StatusBadRequest, fmt.Errorf("%.40q is no cycle: it is written as 20260401_150154", d.Cycle)}
	}
	store, err := v.home.Store(true)
	if err == nil {
		defer store.Close()
		d.Entries, err = store.List(observation.Filter{Turn: d.Cycle, Kind: observation.Kind(d.Kind), Limit: entriesShown + 1, Skip: int(d.Skipped)})
	} else if errors.Is(err, setup.ErrNoObservations) {
		err = nil
	}
	d.Newer = max(0, d.Skipped-entriesShown)
	if len(d.Entries) > entriesShown {
		d.Entries, d.Older = d.Entries[:entriesShown], d.Skipped+entriesShown
	}
	for i := range d.Entries {
		d.Entries[i].Hide(v.home.Hidden())
	}
	return sheet{template: "observations", title: "Observations", data: d}, err
}

// observed is an observation, with the part of it that was asked for.
type observed struct {
	observation.Entry
	Picture  bool
	Lines    int64 // how many are asked for
	From, To int64 // what is shown: lines, or without those characters
	Text     string
	ByLines  bool
	Earlier  template.URL // queries of the parts beside it, "" where there is none
	Later    template.URL
	Find     string // what is looked for
	Case     string // "" where upper and lower case are the same
	Found    observation.Found
	Wrong    string // with that
}

// inObservation answers with the observation that the path names.
func (v *visit) inObservation(show func(*observation.Content) (sheet, error)) (sheet, error) {
	store, err := v.home.Store(true)
	if err != nil {
		return sheet{}, wrong{http.StatusNotFound, err}
	}
	defer store.Close()
	c, err := store.Get(v.PathValue("id"))
	if errors.Is(err, observation.ErrNotFound) {
		return sheet{}, wrong{http.StatusNotFound, fmt.Errorf("observation %.40q: %w, or it has expired", v.PathValue("id"), err)}
	}
	if err != nil {
		return sheet{}, err
	}
	defer c.Close()
	return show(c)
}

// showObservation shows a part of one, of which no more is read.
func (v *visit) showObservation() (sheet, error) {
	return v.inObservation(func(c *observation.Content) (sheet, error) {
		d := observed{Entry: c.Entry, Lines: min(max(v.number("lines", linesShown), 1), 5000), Find: v.param("find"), Case: v.param("case")}
		d.Entry.Hide(v.home.Hidden())
		var err error
		switch {
		case c.Kind == observation.Binary:
			d.Picture = c.Bytes <= largestShown && pictureType(c) != ""
		case d.Find != "":
			err = v.find(c, &d)
		case v.param("char") != "":
			err = v.showChars(c, &d, v.number("char", 0))
		default:
			err = v.showLines(c, &d, max(v.number("from", 1), 1))
		}
		return sheet{template: "observation", title: "Observation " + c.ID, data: d}, err
	})
}

func (v *visit) showLines(c *observation.Content, d *observed, from int64) error {
	part, err := c.Slice(observation.Lines, from, from+d.Lines, bytesShown)
	if err != nil {
		return err
	}
	d.ByLines, d.From, d.To = true, part.Start, part.End-1
	if d.From > 1 {
		d.Earlier = query("from=%d&lines=%d", max(1, d.From-d.Lines), d.Lines)
	}
	if part.Cut {
		d.Later = query("char=%d", part.Char+int64(utf8.RuneCount(part.Data)))
	} else if d.To < part.Total {
		d.Later = query("from=%d&lines=%d", d.To+1, d.Lines)
	}
	return v.clean(c, d, part)
}

// showChars shows a part of a long line.
func (v *visit) showChars(c *observation.Content, d *observed, from int64) error {
	part, err := c.Slice(observation.Chars, from, from+charsShown, bytesShown)
	if err != nil {
		return err
	}
	d.From, d.To = part.Start+1, part.End
	if part.Start > 0 {
		d.Earlier = query("char=%d", max(0, part.Start-charsShown))
	}
	if part.End < part.Total {
		d.Later = query("char=%d", part.End)
	}
	return v.clean(c, d, part)
}

// query is one of our own making.
func query(format string, numbers ...any) template.URL {
	return template.URL(fmt.Sprintf(format, numbers...))
}

func (v *visit) clean(c *observation.Content, d *observed, part observation.Part) error {
	data, err := c.Hidden(part, v.home.Hidden())
	d.Text = string(data)
	return err
}

// find shows the lines that match, from one on.
func (v *visit) find(c *observation.Content, d *observed) (err error) {
	q := observation.Query{Pattern: d.Find, IgnoreCase: d.Case == "", From: v.number("after", 0), MaxMatches: matchesShown, MaxBytes: bytesShown, Partial: true}
	d.Found, err = c.Grep(v.Context(), q)
	if errors.As(err, new(*observation.QueryError)) {
		d.Wrong, err = err.Error(), nil
	}
	return cmp.Or(err, c.HideLines(d.Found.Lines, v.home.Hidden()))
}

// pictureType is the media type of a picture that browsers show, by its first bytes
// alone; "" of all else, and of SVG, which could hold a script.
func pictureType(c *observation.Content) string {
	part, err := c.Slice(observation.Bytes, 0, 512, 512)
	if err != nil {
		return ""
	}
	return picture(part.Data)
}

func picture(data []byte) string {
	if t := http.DetectContentType(data); slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, t) {
		return t
	}
	return ""
}

// showPicture is a picture alone.
func (v *visit) showPicture() (sheet, error) {
	return v.inObservation(func(c *observation.Content) (sheet, error) {
		t := pictureType(c)
		if t == "" {
			return sheet{}, wrong{http.StatusNotFound, errors.New("this observation is no picture")}
		}
		return v.send(t, observation.Printer{Content: c, Hide: v.home.Hidden(), Out: v.w}.Whole)
	})
}

// download is a whole observation as a file.
func (v *visit) download() (sheet, error) {
	return v.inObservation(func(c *observation.Content) (sheet, error) {
		v.w.Header().Set("Content-Disposition", "attachment; filename=observation-"+c.ID)
		return v.send("application/octet-stream", observation.Printer{Content: c, Hide: v.home.Hidden(), Out: v.w}.Whole)
	})
}

// alone is the Content-Security-Policy of what others made: it runs, loads and sends nothing.
const alone = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'; sandbox"

// send answers with content of others. One that breaks off must not look whole.
func (v *visit) send(mediaType string, write func() error) (sheet, error) {
	v.w.Header().Set("Content-Security-Policy", alone)
	v.w.Header().Set("Content-Type", mediaType)
	if write() != nil {
		panic(http.ErrAbortHandler)
	}
	return sheet{done: true}, nil
}

// param is what the address says of a name.
func (v *visit) param(name string) string { return v.URL.Query().Get(name) }

// number is a number of the address that is not below 0, or another one.
func (v *visit) number(name string, other int64) int64 {
	if n, err := strconv.ParseInt(v.param(name), 10, 64); err == nil && n >= 0 {
		return n
	}
	return other
}
