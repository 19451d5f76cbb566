package mcptest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"
	"time"

	"rouse/internal/disk"
	"rouse/internal/proc"
)

// NPM gives the path of something that `npm ci` installs, and the interpreter.
func NPM(t testing.TB, path string) (node, file string) {
	t.Helper()
	root, _ := os.Getwd()
	for root != "/" && !disk.Exists(filepath.Join(root, "go.mod")) {
		root = filepath.Dir(root)
	}
	modules := filepath.Join(root, "tools", "mcp", "testdata", "npm", "node_modules")
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	node, file = filepath.Join(modules, "node-"+runtime.GOOS+"-"+arch, "bin", "node"), filepath.Join(modules, path)
	if !disk.Exists(node) || !disk.Exists(file) {
		t.Skip("the servers from npm are not installed: run npm ci --ignore-scripts in tools/mcp/testdata/npm (Linux)")
	}
	return node, file
}

// Judge has the official suite judge somebody, and gives the score.
func Judge(t testing.TB, env []string, args ...string) (passed, failed int, output string) {
	t.Helper()
	node, suite := NPM(t, "@modelcontextprotocol/conformance/dist/index.js")
	var out bytes.Buffer
	r := proc.Runner{Env: proc.Environ(os.Environ())}
	_, err := r.Run(t.Context(), proc.Command{Argv: append([]string{node, suite}, args...), Env: env, Dir: t.TempDir(), Stdout: &out, Stderr: &out, Timeout: 3 * time.Minute})
	m := regexp.MustCompile(`(?:Total|Passed): (\d+)(?:/\d+,| passed,) (\d+) failed`).FindStringSubmatch(out.String())
	if err != nil || m == nil {
		t.Fatalf("no score: %v\n%s", err, out.String())
	}
	fmt.Sscan(m[1], &passed)
	fmt.Sscan(m[2], &failed)
	return passed, failed, out.String()
}
