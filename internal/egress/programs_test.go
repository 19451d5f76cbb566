package egress

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rouse/internal/proc"
	"rouse/internal/sandbox"
	"rouse/internal/sweep"
)

// shell runs a command in a sandbox whose network is listed, and gives what it said and
// the hosts that it was refused. Where bubblewrap does not work it has the network, but
// no name that it is given can be looked up but by the proxy.
func (r *rig) shell(command string) (said string, refused []string, ok bool) {
	r.t.Helper()
	dir := room(r.t)
	run := &proc.Runner{Env: proc.Environ(append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "PIP_DISABLE_PIP_VERSION_CHECK=1"))}
	system := sandbox.Look()
	bubblewrap, _ := proc.LookPath("bwrap", os.Getenv("PATH"))
	lacks := sandbox.Probe(bubblewrap, system, func(b *sandbox.Box) error {
		e, err := run.Run(r.t.Context(), proc.Command{Argv: []string{"true"}, Box: b})
		if err == nil && !e.OK() {
			err = errors.New(e.String())
		}
		return err
	})
	var out bytes.Buffer
	c := proc.Command{Argv: []string{"sh", "-ec", command}, Dir: dir, Stdout: &out, Stderr: &out, Timeout: time.Minute}
	if system.Bubblewrap = bubblewrap; lacks == "" {
		c.Box = sandbox.New(sandbox.Policy{
			Read: []string{"/"}, Write: []string{dir}, Temp: dir + "/tmp", Network: sandbox.Listed, Gate: r.gate.Open, Environ: r.gate.Environ,
		}, system)
	} else {
		run.Env = r.gate.Environ(run.Env, r.at)
	}
	p, err := run.Start(r.t.Context(), c)
	if err != nil {
		r.t.Fatal(err)
	}
	e := p.Wait()
	return out.String(), append(p.Refused(), r.door.Refused()...), e.OK()
}

// room is a folder outside of /tmp, which is another one inside.
func room(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "rouse-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// needs leaves out a test of a program that is not here.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip(p + " is not here")
		}
	}
}

// named is a rig with a server on loopback that is listed as name.
func named(t *testing.T, name string, h http.Handler) (r *rig, at string) {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	at = name + s.Listener.Addr().String()[len("127.0.0.1"):]
	r = newRig(t, at)
	r.names.Set(name, []string{"127.0.0.1"})
	return r, at
}

func TestCurlAndWget(t *testing.T) {
	r, at := named(t, "files.test", http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		fmt.Fprintf(w, "%s %s %s", req.Method, req.Host, body)
	}))
	for name, c := range map[string]struct {
		program, run, says string
		fails              bool
	}{
		"curl":           {"curl", "curl -sS http://SERVER/", "GET SERVER", false},
		"curl posts":     {"curl", "curl -sS -H 'Expect: 100-continue' -d body http://SERVER/", "POST SERVER body", false},
		"curl in tunnel": {"curl", "curl -sSp http://SERVER/", "GET SERVER", false},
		"curl elsewhere": {"curl", "curl -sS http://no.test/", "only the operator can allow it: rouse allow host no.test", false},
		"curl tls":       {"curl", "curl -sSv https://no.test/", "rouse allow host no.test", true},
		"curl ftp":       {"curl", "curl -sSf ftp://no.test/", "400", true},
		"wget":           {"wget", "wget -qO- http://SERVER/", "GET SERVER", false},
		"wget elsewhere": {"wget", "wget -O- https://no.test/", "rouse allow host no.test", true},
		"python":         {"python3", `python3 -c 'import urllib.request as u; print(u.urlopen("http://SERVER/").read().decode())'`, "GET SERVER", false},
		"python tls":     {"python3", `python3 -c 'import urllib.request as u; u.urlopen("https://no.test/")'`, "Tunnel connection failed: 403 refused: no.test is not a host", true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.program == "python3" && !sweep.Of(false, true, true) {
				t.Skip("wide")
			}
			needs(t, c.program)
			said, _, ok := r.shell(strings.ReplaceAll(c.run, "SERVER", at))
			if ok == c.fails || !strings.Contains(said, strings.ReplaceAll(c.says, "SERVER", at)) {
				t.Errorf("%v: %s", ok, said)
			}
		})
	}
}

func TestGit(t *testing.T) {
	needs(t, "git")
	path, err := exec.Command("git", "--exec-path").Output()
	backend := filepath.Join(strings.TrimSpace(string(path)), "git-http-backend")
	if _, failed := os.Stat(backend); err != nil || failed != nil {
		t.Skip("git cannot serve here")
	}
	dir := room(t)
	if out, err := exec.Command("git", "init", "-q", "--bare", dir+"/one.git").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r, at := named(t, "git.test", &cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=me"}, Stderr: io.Discard})
	said, refused, ok := r.shell(strings.ReplaceAll(`git clone -q http://SERVER/one.git w; cd w
head -c 3000000 /dev/urandom > large; git add .; git -c user.name=a -c user.email=b commit -qm one; git -c http.postBuffer=9000000 push -q origin HEAD
cd ..; git clone -q http://SERVER/one.git again; cmp w/large again/large && echo same
git clone -q https://no.test/one.git 2>&1 || true`, "SERVER", at))
	if !ok || !slices.Equal(refused, []string{"no.test"}) || !strings.Contains(said, "same\n") || !strings.Contains(said, "403") {
		t.Errorf("%v, refused %q: %s", ok, refused, said)
	}
}

// wheel is the smallest package for pip.
func wheel(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]string{
		"small.py":                     "word = 7\n",
		"small-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n",
		"small-1.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"small-1.0.dist-info/RECORD":   "small.py,,\nsmall-1.0.dist-info/METADATA,,\nsmall-1.0.dist-info/WHEEL,,\nsmall-1.0.dist-info/RECORD,,\n",
	} {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPip(t *testing.T) {
	if !sweep.Of(false, true, true) {
		t.Skip("wide")
	}
	needs(t, "python3")
	file := wheel(t)
	r, at := named(t, "index.test", http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/simple/small/":
			io.WriteString(w, `<!DOCTYPE html><html><body><a href="/f/small-1.0-py3-none-any.whl">small-1.0-py3-none-any.whl</a></body></html>`)
		case "/f/small-1.0-py3-none-any.whl":
			w.Write(file)
		default:
			http.NotFound(w, req)
		}
	}))
	said, refused, ok := r.shell(strings.ReplaceAll(`python3 -m pip install -q --target t --index-url http://SERVER/simple/ --trusted-host index.test small || true
PYTHONPATH=t python3 -c 'import small; print(small.word)'
python3 -m pip download --no-deps --retries 1 --index-url https://no.test/simple/ other 2>&1 || true`, "SERVER", at))
	if strings.Contains(said, "No module named pip") {
		t.Skip("pip is not here")
	}
	if !ok || !slices.Equal(refused, []string{"no.test"}) || !strings.Contains(said, "7\n") || !strings.Contains(said, "rouse allow host no.test") {
		t.Errorf("%v, refused %q: %s", ok, refused, said)
	}
}

func TestNpm(t *testing.T) {
	if !sweep.Of(false, true, true) {
		t.Skip("wide")
	}
	needs(t, "npm", "node")
	r, at := named(t, "npm.test", http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprintf(w, `{"name":"small","dist-tags":{"latest":"1.2.3"},"versions":{"1.2.3":{"name":"small","version":"1.2.3","dist":{"tarball":"http://%s/s.tgz","shasum":"0"}}}}`, req.Host)
	}))
	said, refused, ok := r.shell(strings.ReplaceAll(`npm view --registry http://SERVER/ small version
npm view --fetch-retries=0 --registry https://no.test/ small version 2>&1 || true`, "SERVER", at))
	if !ok || !slices.Equal(refused, []string{"no.test"}) || !strings.Contains(said, "1.2.3\n") || !strings.Contains(said, "403") {
		t.Errorf("%v, refused %q: %s", ok, refused, said)
	}
}
