package config

import (
	"slices"
	"testing"

	"rouse/internal/egress"
)

func TestAddAllowed(t *testing.T) {
	const odd = "rouse.yaml: the form of sandbox: is too unusual to be changed here; write the line there yourself"
	const p = "posture: careful\n"
	for _, tt := range []struct{ list, entry, before, after, err string }{
		{"hosts", "pypi.org", p, p + "sandbox:\n  hosts: [pypi.org]\n", ""},
		{"hosts", "pypi.org", "# sandbox: {}   # walls\n\n" + p, "# sandbox: {}   # walls\nsandbox:\n  hosts: [pypi.org]\n\n" + p, ""},
		{"hosts", "*.a.example", p + "sandbox:\n", p + "sandbox: {hosts: ['*.a.example']}\n", ""},
		{"hosts", "a.example:80", p + "sandbox: {} # none\n", p + "sandbox: {hosts: ['a.example:80']} # none\n", ""},
		{"hosts", "a.example", "sandbox:\n  # walls\n  mode: auto # as it is\n" + p, "sandbox:\n  # walls\n  hosts: [a.example]\n  mode: auto # as it is\n" + p, ""},
		{"hosts", "a.example", p + "sandbox:\n  hosts: [] # few\n  mode: auto\n", p + "sandbox:\n  hosts: [a.example] # few\n  mode: auto\n", ""},
		{"hosts", "a.example", p + "sandbox:\n  hosts:\n  mode: auto\n", p + "sandbox:\n  hosts: [a.example]\n  mode: auto\n", ""},
		{"hosts", "a.example", p + "sandbox: {hosts: [b.example, 'c.example']} # x\n", p + "sandbox: {hosts: [a.example, b.example, 'c.example']} # x\n", ""},
		{"hosts", "a.example", p + "sandbox:\n  hosts: [b.example,\n    c.example] # x\n", p + "sandbox:\n  hosts: [a.example, b.example,\n    c.example] # x\n", ""},
		{"hosts", "a.example", p + "sandbox:\n  hosts:\n    - b.example # why\n    # and\n    - c.example # because\n  # next\n  mode: auto\n",
			p + "sandbox:\n  hosts:\n    - b.example # why\n    # and\n    - c.example # because\n    - a.example\n  # next\n  mode: auto\n", ""},
		{"hosts", "a.example", p + "sandbox:\r\n  hosts:\r\n  - b.example\r\n", p + "sandbox:\r\n  hosts:\r\n  - b.example\r\n  - a.example\r\n", ""},
		{"hosts", "a.example", p + "sandbox:\n  hosts:\n  - b.example", p + "sandbox:\n  hosts:\n  - b.example\n  - a.example\n", ""},
		{"write", "/srv/a b", p + "sandbox: {write: [out]}\n", p + "sandbox: {write: ['/srv/a b', out]}\n", ""},
		{"write", "~/out", p, p + "sandbox:\n  write: [~/out]\n", ""},
		{"read", "/srv/data", p, p + "sandbox:\n  read: [all, /srv/data]\n", ""},
		{"read", "/srv/data", "posture: strict\nsandbox:\n  read: system # and no more\n", "posture: strict\nsandbox:\n  read: [system, /srv/data] # and no more\n", ""},
		{"read", "/srv/data", "posture: strict\nsandbox:\n  read: [/opt]\n", "posture: strict\nsandbox:\n  read: [/srv/data, /opt]\n", ""},
		{"read", "/srv/data", "posture: strict\nsandbox:\n  read:\n    - system\n", "posture: strict\nsandbox:\n  read:\n    - system\n    - /srv/data\n", ""},
		{"hosts", "a.example", p + "sandbox: &a {mode: auto}\n", "", odd},
		{"hosts", "a.example", p + "sandbox:\n  hosts:\n    - >-\n      b.example\n", "", odd},
		{"hosts", "a.example", p + "sandbox:\n  hosts: &h [b.example]\n  write: *h\n", "", odd},
		{"hosts", "a.example", p + "sandbox: 3\n", "", "rouse.yaml: line 2: `3` where a mapping is wanted"},
		{"hosts", "a.example", "a: [\n", "", "rouse.yaml: line 1: did not find expected node content"},
	} {
		got, err := AddAllowed([]byte(tt.before), tt.list, tt.entry)
		edited(t, tt.before, got, err, tt.after, tt.err)
	}
}

// An entry more is an entry more, or an error, in whatever form the file is.
func FuzzAddAllowed(f *testing.F) {
	f.Add("posture: careful\nsandbox: {hosts: [b.example]} # x\n", "a.example")
	f.Add("# sandbox: {}\nsandbox:\n  hosts:\n  - b\n  -  'c' # d\n  mode: auto\n", "*.a.example:1")
	f.Fuzz(func(t *testing.T, text, host string) {
		if _, err := egress.Entry(host); err != nil {
			return
		}
		got, err := AddAllowed([]byte(text), HostsList, host)
		if err != nil {
			return
		}
		was, err := sandboxOf([]byte(text))
		now, failed := sandboxOf(got)
		if err != nil || failed != nil || len(now.Hosts) != len(was.Hosts)+1 || !slices.Contains(now.Hosts, host) {
			t.Errorf("%q became %q: %v, %v", text, got, err, failed)
		}
	})
}
