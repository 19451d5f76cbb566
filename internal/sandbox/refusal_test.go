package sandbox

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What programs say of themselves, and what of it is the box's doing.
func TestRefusals(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"ws/own", "secret/key", "etc/conf", "etc/a b"} {
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(at("secret"), at("ws/link")); err != nil {
		t.Fatal(err)
	}
	p := Policy{Read: []string{"/"}, Write: []string{at("ws")}, Hidden: []string{at("secret")}, Network: None, Temp: "/tmp/none"}
	for _, row := range []struct {
		said string
		want []string
	}{
		{"cat: " + at("secret/key") + ": Permission denied", []string{"read " + at("secret/key")}},
		{"cat: link/key: Permission denied", []string{"read " + at("ws/link/key")}},
		{"PermissionError: [Errno 13] Permission denied: '" + at("secret/key") + "'", []string{"read " + at("secret/key")}},
		{"ls: cannot access '" + at("secret/key") + "': No such file or directory", []string{"read " + at("secret/key")}},
		{"ls: cannot access '" + at("secret/none") + "': No such file or directory", nil},
		{"sh: 1: cannot create " + at("etc/conf") + ": Permission denied", []string{"write " + at("etc/conf")}},
		{"sh: 1: cannot create ../etc/conf: Read-only file system", []string{"write " + at("etc/conf")}},
		{"touch: cannot touch '../etc/new': Read-only file system", []string{"write " + at("etc/new")}},
		{"bash: " + at("etc/a b") + ": Read-only file system", []string{"write " + at("etc/a b")}},
		{"Error: EACCES: permission denied", nil},
		{"open ../secret/key: permission denied", []string{"read " + at("secret/key")}},
		{"tool: open ../etc/new: permission denied", []string{"write " + at("etc/new")}},
		{"open " + at("etc/conf") + ": permission denied", []string{"write " + at("etc/conf")}},
		{"Error: EROFS: read-only file system, open '" + at("etc/conf") + "'", []string{"write " + at("etc/conf")}},
		{"cat: " + at("etc/none") + ": No such file or directory", nil},
		{"cat: own: Permission denied", nil}, // the program's own doing
		{"sh: 1: ../etc/kill: Operation not permitted", nil},
		{"chmod: changing permissions of '../etc/conf': Operation not permitted", []string{"write " + at("etc/conf")}},
		{"rm: cannot remove '" + at("nowhere/at/all") + "': Permission denied", nil},
		{"all is well with " + at("secret/key"), nil},
		{"curl: (6) Could not resolve host: pypi.org", []string{"host pypi.org"}},
		{"fatal: unable to access 'https://git.example/x.git/': Could not resolve host: git.example", []string{"host git.example"}},
		{"W: Failed to fetch http://deb.example/InRelease  Temporary failure resolving 'deb.example'", []string{"host deb.example"}},
		{"wget: unable to resolve host address ‘a.example’", []string{"host a.example"}},
		{"HTTPSConnectionPool(host='pypi.org', port=443): <pip._vendor.urllib3.connection.HTTPSConnection>: [Errno -3] Temporary failure in name resolution", []string{"host pypi.org"}},
		{"npm error request to https://registry.npmjs.org/x failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org", []string{"host registry.npmjs.org"}},
		{"dial tcp: lookup proxy.golang.org on 127.0.0.1:53: dial udp: socket: permission denied", []string{"host proxy.golang.org"}},
		{"socket.gaierror: [Errno -3] Temporary failure in name resolution", []string{"network"}},
		{"Error: getaddrinfo ENOTFOUND a.example", []string{"host a.example"}},
		{"FileNotFoundError: [Errno 2] No such file or directory: 'a'", nil},
		{"Failed to connect to localhost port 1 after 0 ms: Couldn't connect to server", nil},
		{"connect to x.example: Connection refused", nil},
	} {
		var got []string
		for _, r := range hear(New(p, System{}), at("ws"), "first\n"+row.said+"\n") {
			got = append(got, r.String())
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: got %q, want %q", row.said, got, row.want)
		}
	}
	for said, want := range map[string]string{ // /tmp is another one, in which dir is shown
		"sh: 1: cannot create " + at("etc/conf") + ": Permission denied":       "[]",
		"sh: 1: cannot create " + at("etc/conf") + ": Directory nonexistent":   "[write " + at("etc/conf") + "]",
		"cat: " + at("etc/conf") + ": No such file or directory":               "[read " + at("etc/conf") + "]",
		"cat: " + at("etc/none") + ": No such file or directory":               "[]",
		"sh: 1: cannot create " + at("ws/no/such") + ": Directory nonexistent": "[]",
		"cat: " + at("secret/key") + ": Permission denied":                     "[read " + at("secret/key") + "]",
	} {
		if got := fmt.Sprint(hear(New(p, System{Bubblewrap: "bwrap", Tracing: true}), at("ws"), said)); strings.HasPrefix(dir, "/tmp/") && got != want {
			t.Errorf("%s: got %s, want %s", said, got, want)
		}
	}
	p.Network = Open
	if got := hear(New(p, System{}), dir, "curl: (6) Could not resolve host: nowhere.invalid"); got != nil {
		t.Errorf("with a network: %v", got)
	}
	p.Network, p.Lists = Listed, func(host string) bool { return host == "in.example" }
	for said, want := range map[string]string{
		"ssh: Could not resolve hostname in.example: Temporary failure in name resolution":  "[network but by the proxy in $https_proxy]",
		"ssh: Could not resolve hostname out.example: Temporary failure in name resolution": "[host out.example]",
	} {
		if got := fmt.Sprint(hear(New(p, System{}), dir, said)); got != want {
			t.Errorf("%s: got %s, want %s", said, got, want)
		}
	}
	p.Limits = Limits{Memory: 1 << 30}
	for said, want := range map[string]string{"MemoryError": "; it may have met sandbox.memory, 1024 MiB, which only the operator can raise", "sh: 1: Cannot fork": "", "fine": ""} {
		ear := New(p, System{}).Listen(dir)
		if io.WriteString(ear, said); ear.Hint() != want {
			t.Errorf("%s: got %q, want %q", said, ear.Hint(), want)
		}
	}
	ear := (*Box)(nil).Listen(dir)
	if out := new(strings.Builder); ear.Beside(out) != out || ear.Refusals(true, []string{"a.example"}) != nil || ear.Hint() != "" || (*Box)(nil).Ended("SIGXCPU", 0) != nil {
		t.Error("something was heard without a box")
	}
}

func hear(b *Box, dir, said string) []Refusal {
	ear := b.Listen(dir)
	io.WriteString(ear.Beside(io.Discard), said)
	return ear.Refusals(true, nil)
}

// Of what is said without end the beginning and the end are heard, and no more than a
// few refusals are told.
func TestRefusalsAreBounded(t *testing.T) {
	b := New(Policy{Read: []string{"/"}, Network: None, Limits: Limits{CPU: time.Second}}, System{})
	ear := b.Listen("/")
	for i := range 100_000 {
		fmt.Fprintf(ear, "curl: (6) Could not resolve host: h%d.example\n", i)
	}
	got := ear.Refusals(true, []string{"first.example"}, b.Ended("SIGXCPU", -1)...)
	if hosts := ear.Refusals(false, []string{"first.example"}); len(hosts) != 1 {
		t.Errorf("of one that did not fail: %v", hosts)
	}
	if len(got) != maxRefusals || got[0] != (Refusal{Host, "first.example"}) || got[1] != (Refusal{Bound, "cpu"}) || got[2] != (Refusal{Host, "h0.example"}) {
		t.Errorf("got %v", got)
	}
}

// A longer path beats a shorter one; of one path Hidden beats ReadOnly beats Write.
func TestPolicyOfPaths(t *testing.T) {
	p := Policy{
		Read: []string{"/usr", "/h/logs/open"}, Write: []string{"/h", "/h/ro/rw", "/both"}, ReadOnly: []string{"/h/ro", "/both"},
		Hidden: []string{"/h/logs", "/usr/secret"}, Temp: "/t",
	}
	for _, row := range []struct{ path, want string }{
		{"/usr/bin", "r"}, {"/usrbin", ""}, {"/usr/secret/x", ""}, {"/h", "rw"}, {"/h/x", "rw"}, {"/h/ro", "r"}, {"/h/ro/rw/x", "rw"},
		{"/h/logs", ""}, {"/h/logs/open/x", "r"}, {"/both", "r"}, {"/t/x", "rw"}, {"/", ""},
	} {
		got := ""
		if p.Reads(row.path) {
			got = "r"
		}
		if p.Writes(row.path) {
			got += "w"
		}
		if got != row.want {
			t.Errorf("%s: got %q, want %q", row.path, got, row.want)
		}
	}
}
