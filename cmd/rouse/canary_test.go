package main

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"rouse/scratchpad/observation"
)

// canaries are secrets that a cycle meets in every way, in every form that
// package redact promises to find. The forms are made by the standard library.
type canaries struct {
	env     []string
	values  []string
	leak    string   // a text with every form of every secret
	once    string   // the same to be put into JSON: of what is then escaped twice nothing is promised
	needles []needle // what no artefact may hold
	hits    int
	parked  int // observations that were looked into
	large   int // of these in files of their own
}

type needle struct{ form, text string }

func newCanaries() *canaries {
	c := &canaries{}
	random := func() string { return rand.Text()[:20] }
	shop := random() + `+/ "<é&'\%=` + random()
	for _, s := range [][2]string{
		{"SHOP_TOKEN", shop},
		{"BIG_SECRET", shop + random()}, // one that holds another
		{"MY_PIN", random()},            // named in secrets:
		{"OPENAI_API_KEY", "k-" + random() + "_" + random()},
	} {
		c.env = append(c.env, s[0]+"="+s[1])
		c.values = append(c.values, s[1])
		c.add(s[1])
	}
	return c
}

// plain is a secret that can stand anywhere, such as in a file name.
func (c *canaries) plain() string { return c.values[2] }

func (c *canaries) key() string { return c.values[3] }

func (c *canaries) add(value string) {
	forms := map[string]string{
		"raw": value, "hex": hex.EncodeToString([]byte(value)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(value))),
		"query": url.QueryEscape(value), "path": url.PathEscape(value), "html": html.EscapeString(value),
		"json": inJSON(value, true), "json without html": inJSON(value, false),
	}
	for form, text := range forms {
		line := fmt.Sprintf("%s glued%sglued\n", form, text)
		c.leak += line
		if form == "raw" || !strings.Contains(text, `\`) {
			c.once += line
		}
		c.needles = append(c.needles, needle{form, text})
	}
	c.needles = append(c.needles, needle{"first 12", value[:12]})
	for offset := range 3 {
		text := []byte("xyz"[:offset] + value)
		std := base64.StdEncoding.EncodeToString(text)
		c.leak += fmt.Sprintf("base64 %s\nurl base64 %s\nescaped base64 %s\n", std, base64.RawURLEncoding.EncodeToString(text), url.QueryEscape(std))
		// What the value shares with no neighbour.
		inner := std[(offset*8+5)/6 : len(text)*8/6]
		c.needles = append(c.needles, needle{"base64", inner}, needle{"url base64", strings.NewReplacer("+", "-", "/", "_").Replace(inner)},
			needle{"escaped base64", url.QueryEscape(inner)})
	}
}

// inJSON is the inside of a JSON string.
func inJSON(s string, escapeHTML bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	_ = e.Encode(s) // a string always encodes
	return strings.Trim(b.String(), "\n")[1 : b.Len()-2]
}

// look counts the needles in a text.
func (c *canaries) look(t *testing.T, sink, text string) {
	for _, needle := range c.needles {
		if at := strings.Index(text, needle.text); at >= 0 {
			c.hits++
			t.Errorf("%s holds a secret (%s): …%q…", sink, needle.form, text[max(0, at-60):min(len(text), at+60)])
		}
	}
}

// files looks into every file below a folder, and at its name. What skip says is
// the operator's or a tool's own. JSON and YAML are looked into as text and as
// values.
func (c *canaries) files(t *testing.T, dir string, skip func(rel string) bool) (n int) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, path)
		if err = errors.Join(err, relErr); err != nil {
			return err
		}
		if skip(rel) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		c.look(t, "the name "+rel, rel)
		if !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		n++
		c.look(t, rel, string(data))
		c.look(t, rel+", decoded", decoded(rel, data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// observed looks into all that a store of observations holds: in its files it is
// compressed, or lies in pieces.
func (c *canaries) observed(t *testing.T, dir string) (n int) {
	if !observation.Exists(dir) {
		return 0
	}
	s, err := observation.Open(dir, observation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	list, err := s.List(observation.Filter{Expired: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		content, err := s.Get(e.ID)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		_, err = content.WriteTo(&b)
		if err := errors.Join(err, content.Close()); err != nil {
			t.Fatal(err)
		}
		c.look(t, "observation of "+e.Executor, b.String())
		c.look(t, "what is known of it", fmt.Sprint(e.Summary, e.Facts, string(e.Metadata), e.Label))
		n += 2
	}
	c.parked, c.large = c.parked+len(list), c.large+len(glob(t, dir, "observations.db.d/*-*"))
	return n
}

func glob(t *testing.T, dir, pattern string) []string {
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// decoded are the strings in a file of JSON lines or YAML.
func decoded(name string, data []byte) string {
	var b strings.Builder
	switch filepath.Ext(name) {
	case ".jsonl":
		for line := range bytes.Lines(data) {
			var v any
			if json.Unmarshal(line, &v) == nil { // else what a killed process left of a line
				walk(&b, v)
			}
		}
	case ".yaml":
		var v any
		if yaml.Unmarshal(data, &v) == nil {
			walk(&b, v)
		}
	}
	return b.String()
}

func walk(b *strings.Builder, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			b.WriteString(k + "\n")
			walk(b, e)
		}
	case []any:
		for _, e := range v {
			walk(b, e)
		}
	default:
		fmt.Fprintln(b, v)
	}
}

// The needles are found where they are, so that finding none means something.
func TestCanariesAreFound(t *testing.T) {
	c := newCanaries()
	for _, n := range c.needles {
		if !strings.Contains(c.leak, n.text) {
			t.Errorf("%s is not in the text: %s", n.form, n.text)
		}
	}
}
