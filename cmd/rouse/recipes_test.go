package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// block is a file in a page of the documentation: its name in backquotes, what is
// said of it, and its text between fences.
var block = regexp.MustCompile("(?m)^`([^`\n]+)`[^`\n]*:\n\n```[a-z]*\n((?:[^`]|`[^`])*?)```$")

// writeBlocks writes the files of docs/recipes.md to doc, in a folder for each of its
// headings.
func writeBlocks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: recipes")
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/recipes.md"))
	ts.Check(err)
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			path := ts.MkAbs(filepath.Join("doc", heading, m[1]))
			ts.Check(os.MkdirAll(filepath.Dir(path), 0o700))
			ts.Check(os.WriteFile(path, []byte(m[2]), 0o600))
		}
	}
}

// root is the repository, where tests begin below cmd/rouse.
var root = func() string {
	dir, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return dir
}()
