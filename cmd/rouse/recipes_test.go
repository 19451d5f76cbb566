package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// block is a file in a page of the documentation: its name in backquotes, what is
// said of it, and its text between fences.
var block = regexp.MustCompile("(?m)^`([^`\n]+)`[^`\n]*:\n\n```[a-z]*\n((?:[^`]|`[^`])*?)```$")

// writeBlocks writes the files of a page of docs to doc, in a folder for each of its
// headings.
func writeBlocks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: recipes PAGE")
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", args[0]))
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

// serveFake keeps what is asked of $FAKE in a file, and takes it.
func serveFake(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fake FILE")
	}
	file := ts.MkAbs(args[0])
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		f, failed := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err == nil && failed == nil {
			fmt.Fprintf(f, "%s %s title=%q signature=%q %s\n", r.Method, r.URL, r.Header.Get("Title"), r.Header.Get("X-Rouse-Signature"), body)
			f.Close()
		}
	}))
	ts.Defer(s.Close)
	ts.Setenv("FAKE", s.URL)
}

// root is the repository, where tests begin below cmd/rouse.
var root = func() string {
	dir, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return dir
}()
