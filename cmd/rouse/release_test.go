package main

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// TestRelease makes the manual and the completions of a release, of the verbs as they are:
// in $ROUSE_RELEASE, as of $SOURCE_DATE_EPOCH. What makes the manual is no part of the program.
func TestRelease(t *testing.T) {
	dir := cmp.Or(os.Getenv("ROUSE_RELEASE"), t.TempDir())
	man, completions := filepath.Join(dir, "man"), filepath.Join(dir, "completions")
	if err := cmp.Or(os.MkdirAll(man, 0o755), os.MkdirAll(completions, 0o755)); err != nil {
		t.Fatal(err)
	}
	root := (&app{}).root()
	root.DisableAutoGenTag = true
	pages := plain(root)
	epoch, _ := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64) // else 1970
	date := time.Unix(epoch, 0).UTC()
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Date: &date, Source: "Rouse", Manual: "Rouse"}, man); err != nil {
		t.Fatal(err)
	}
	made, err := filepath.Glob(filepath.Join(man, "rouse*.1"))
	if err != nil || len(made) != pages {
		t.Errorf("%d pages for %d verbs, %v", len(made), pages, err)
	}
	page, err := os.ReadFile(filepath.Join(man, "rouse-serve.1"))
	if err != nil || !strings.Contains(string(page), "$ROUSE_PAGE_TOKEN (act)") || !strings.Contains(string(page), "[HOME|FOLDER]") {
		t.Errorf("%s, %v", page, err)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		var script bytes.Buffer
		if code := (&app{stdout: &script, stderr: &script}).main([]string{"completion", shell}); code != 0 || !strings.Contains(script.String(), "rouse") {
			t.Fatalf("%s: exit %d, %s", shell, code, script.String())
		}
		if err := os.WriteFile(filepath.Join(completions, "rouse."+shell), script.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// plain lets the texts of commands be what they are, as pages are made of them as if they
// were Markdown, which those of cobra's own completion are. It counts the pages.
func plain(c *cobra.Command) (n int) {
	if !c.IsAvailableCommand() && c.HasParent() {
		return 0
	}
	if !strings.HasPrefix(c.CommandPath(), "rouse completion") {
		c.Long = strings.NewReplacer("\\", `\\`, "*", `\*`, "_", `\_`, "<", `\<`, "`", "\\`", "[", `\[`).Replace(c.Long)
	}
	for _, below := range c.Commands() {
		n += plain(below)
	}
	return n + 1
}
