package main

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// writeMixed writes a file of about size bytes: logs, JSON and Go's own source,
// in stretches of a few hundred lines, the same each time.
func writeMixed(name string, size int64) error {
	source, err := goSource()
	if err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	m := mixer{w: bufio.NewWriterSize(f, 1<<20), r: rand.New(rand.NewPCG(3, 4))}
	for i := 0; m.n < size && m.err == nil; i++ {
		m.stretch()
		at := i * 30_000 % (len(source) - 30_000)
		m.printf("%s", source[at:at+30_000])
	}
	return errors.Join(m.err, m.w.Flush(), f.Close())
}

type mixer struct {
	w   *bufio.Writer
	r   *rand.Rand
	n   int64
	err error
}

func (m *mixer) printf(form string, args ...any) {
	n, err := fmt.Fprintf(m.w, form, args...)
	m.n += int64(n)
	m.err = errors.Join(m.err, err)
}

func (m *mixer) pick(words ...string) string { return words[m.r.IntN(len(words))] }

func (m *mixer) word() string {
	return m.pick("context", "deadline", "buffer", "return", "request", "index", "value", "stream", "closed", "error")
}

func (m *mixer) stretch() {
	r := m.r
	for range 300 {
		m.printf("2026-11-21T04:%02d:%02d.%03dZ %s worker-%d: %s %s id=%08x took %dms\n", r.IntN(60), r.IntN(60), r.IntN(1000),
			m.pick("INFO", "INFO", "DEBUG", "WARN", "ERROR"), r.IntN(16), m.word(), m.word(), r.Uint32(), r.IntN(5000))
	}
	for range 300 {
		m.printf(`{"id":%d,"name":"%s-%s","score":%.3f,"tags":["%s","%s"],"ok":%v}`+"\n",
			r.IntN(1e9), m.word(), m.word(), r.Float64(), m.word(), m.word(), r.IntN(2) == 0)
	}
}

// goSource is some of the source of Go's library.
func goSource() (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("ask where Go's own source is: %w", err)
	}
	var b strings.Builder
	for _, dir := range []string{"net/http", "runtime", "go/types", "crypto/tls"} {
		names, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", dir, "*.go"))
		if err != nil {
			return "", err
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				return "", err
			}
			b.Write(data)
		}
	}
	if b.Len() < 1<<20 {
		return "", errors.New("the source of Go is not installed")
	}
	return b.String(), nil
}
