package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// markVariable holds the marks of all Runners that a process descends from,
// outermost first, as in "outer.3/inner.1": a Rouse that runs as a tool of
// another one passes on what it was given. Each mark is followed by the number
// of the process within its Runner.
const markVariable = "ROUSE_CHILD"

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Environ makes the clean environment of children out of environ, a list like
// that of [os.Environ]: only what programs need in order to find their files,
// language, time zone, certificates, proxy and package index is kept, so no key
// passes because nobody thought of it. An address that holds a user or password, or
// a query, is left out.
// TERM is "dumb"; extra is added at the end and wins.
func Environ(environ []string, extra ...string) []string {
	var kept []string
	for _, e := range environ {
		if name, value, ok := strings.Cut(e, "="); ok && inherited(name, value) {
			kept = append(kept, e)
		}
	}
	return append(append(kept, "TERM=dumb"), extra...)
}

func inherited(name, value string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", markVariable,
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE",
		"PIP_CERT", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "CARGO_HTTP_CAINFO", "DENO_CERT", "UV_NATIVE_TLS":
		return true
	case "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "PIP_PROXY", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL",
		"UV_DEFAULT_INDEX", "UV_INDEX", "GOPROXY", "GOSUMDB":
		return !strings.ContainsAny(value, "@?")
	}
	switch strings.ToLower(name) {
	case "http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"npm_config_registry", "npm_config_cafile", "npm_config_proxy", "npm_config_https_proxy", "npm_config_noproxy":
		return !strings.ContainsAny(value, "@?")
	}
	return strings.HasPrefix(name, "LC_")
}

// environ is what the child of this number gets: PATH at least, then the
// Runner's, the command's, and what is ours to say.
func (r *Runner) environ(c Command, number int) []string {
	env := slices.Concat([]string{"PATH=" + defaultPath}, r.Env, c.Env)
	if c.Dir != "" {
		if dir, err := filepath.Abs(c.Dir); err == nil {
			env = append(env, "PWD="+dir)
		}
	}
	mark := r.markOf(number)
	if outer := Lookup(r.Env, markVariable); outer != "" {
		mark = outer + "/" + mark
	}
	return append(env, markVariable+"="+mark)
}

// markOf is the mark of the process of this number.
func (r *Runner) markOf(number int) string { return fmt.Sprintf("%s.%d", r.mark, number) }

// Lookup is the last value of a variable, the one that counts.
func Lookup(env []string, name string) string {
	for _, e := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}

// LookPath finds a program in a child's PATH, which may differ from ours. A
// relative folder in PATH is passed over: what stands in the current folder
// must not replace a program.
func LookPath(program, path string) (string, error) {
	if strings.Contains(program, "/") {
		return program, nil
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, program)
		fi, err := os.Stat(file)
		if err == nil && filepath.IsAbs(dir) && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("no such program in %s", path)
}
