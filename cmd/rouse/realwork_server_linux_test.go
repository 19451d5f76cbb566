package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// serveWork is a host with a repository of git, and one package each for pip, npm and apt.
func serveWork(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	if h := serveGit(t); h != nil {
		mux.Handle("/git/", h)
	}
	texts := map[string]string{
		"/simple/small/": `<!DOCTYPE html><html><body><a href="/f/small-1.0-py3-none-any.whl">small-1.0-py3-none-any.whl</a></body></html>`,
		"/f/small-1.0-py3-none-any.whl": zipped(t, "small.py", "word = 7\n",
			"small-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n",
			"small-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
			"small-1.0.dist-info/RECORD", "small.py,,\nsmall-1.0.dist-info/METADATA,,\nsmall-1.0.dist-info/WHEEL,,\nsmall-1.0.dist-info/RECORD,,\n"),
		"/npm/small.tgz": tarred(t, "package/package.json", `{"name": "small", "version": "1.2.3", "main": "index.js", "bin": {"small": "cli.js"}}`,
			"package/index.js", "module.exports = 7\n", "package/cli.js", "#!/usr/bin/env node\nconsole.log(8)\n"),
		"/apt/small_1_all.deb": "a package\n",
	}
	texts["/apt/Packages"] = fmt.Sprintf("Package: small\nVersion: 1\nArchitecture: all\nFilename: ./small_1_all.deb\nSize: %d\nSHA256: %x\nDescription: small\n",
		len(texts["/apt/small_1_all.deb"]), sha256.Sum256([]byte(texts["/apt/small_1_all.deb"])))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		text, ok := texts[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
		}
		io.WriteString(w, text)
	})
	mux.HandleFunc("/npm/small", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"name":"small","dist-tags":{"latest":"1.2.3"},"versions":{"1.2.3":{"name":"small","version":"1.2.3","bin":{"small":"cli.js"},"dist":{"tarball":"http://%s/npm/small.tgz","shasum":"%x"}}}}`,
			r.Host, sha1.Sum([]byte(texts["/npm/small.tgz"])))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// serveGit serves a bare repository, nil where git cannot.
func serveGit(t *testing.T) http.Handler {
	t.Helper()
	path, err := exec.Command("git", "--exec-path").Output()
	backend := filepath.Join(strings.TrimSpace(string(path)), "git-http-backend")
	if _, failed := os.Stat(backend); err != nil || failed != nil {
		return nil
	}
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", "--bare", dir+"/one.git").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return &cgi.Handler{Path: backend, Root: "/git", Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=me"}, Stderr: io.Discard}
}

// zipped and tarred hold files, given as names and texts.
func zipped(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = io.WriteString(w, files[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func tarred(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for i := 0; i < len(files); i += 2 {
		err := w.WriteHeader(&tar.Header{Name: files[i], Mode: 0o755, Size: int64(len(files[i+1]))})
		if err == nil {
			_, err = io.WriteString(w, files[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
