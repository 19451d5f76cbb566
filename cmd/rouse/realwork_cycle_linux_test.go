package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"rouse/agent/model/modeltest"
	"rouse/internal/sweep"
)

// slow leaves out what takes seconds: an ordinary user does it in a wide sweep, root
// in a full one.
func (s *workSite) slow(t *testing.T) {
	t.Helper()
	if !sweep.Of(false, s.user != nil || os.Getuid() != 0, true) {
		t.Skip("wide or full")
	}
}

// cycle lets a model have actions done, all of which have to succeed.
func (s *workSite) cycle(t *testing.T, actions ...modeltest.Reply) (journal string) {
	t.Helper()
	s.t = t
	env := s.env
	defer func() { s.env = env }()
	s.serve(append(actions, done())...)
	o := s.rouse("run", "--task", "go on")
	journal = s.journal()
	if o.code != 0 || strings.Count(journal, `"ok":true`) != len(actions)+1 || strings.Contains(journal, `"event":"refused"`) {
		t.Errorf("%+v\n%s", o, journal)
	}
	return journal
}

// notebooks: an environment is made, a package comes from an index, a cell reads a
// table and draws.
func (s *workSite) notebooks(t *testing.T) {
	s.slow(t)
	s.have(t, "/usr/bin/python3:ensurepip,pandas,matplotlib")
	s.configure("", "notebook: {python: /usr/bin/python3}")
	s.env = append(s.env, "PIP_INDEX_URL=http://"+s.server+"/simple/", "PIP_TRUSTED_HOST=127.0.0.1")
	cell := func(code string) modeltest.Reply {
		return call("notebook", `{"action": "exec", "name": "lab", "description": "work", "code": `+quote(code)+`}`)
	}
	journal := s.cycle(t,
		cell("install('small')\nimport small, sys\nsys.path.append('/usr/lib/python3/dist-packages') # which the environment does not have\nsmall.word"),
		cell("import pandas\npandas.DataFrame({'day': range(9), 'sum': range(9)}).to_csv('table.csv')\nt = pandas.read_csv('table.csv')\nt['sum'].sum()"),
		cell("import matplotlib.pyplot as plt\nt.plot(x='day', y='sum')\nplt.savefig('picture.png')\nplt.gcf()"),
		cell("import subprocess, multiprocessing as m\nwith m.get_context('fork').Pool(2) as p: print(p.map(abs, [-3]))\nsubprocess.run(['ls', '-l'], check=True, capture_output=True).returncode"),
	)
	if !strings.Contains(journal, `"type":"image/png"`) {
		t.Errorf("no picture in %s", journal)
	}
}

// servers: those of npm that many people have, each with what its entry gives it.
func (s *workSite) servers(t *testing.T) {
	s.slow(t)
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	dir := npm()
	node := filepath.Join(dir, "node-linux-"+arch, "bin", "node")
	if _, err := os.Stat(filepath.Join(dir, "@modelcontextprotocol", "server-memory")); err != nil || !passable(filepath.Dir(node)) {
		t.Skip("the servers from npm are not installed where everybody reaches them: run npm ci --ignore-scripts in tools/mcp/testdata/npm (Linux)")
	}
	var entries []string
	for name, rest := range map[string]string{
		"everything": `"stdio"], "sandbox": {"read": [DIR]}`,
		"filesystem": `WORKSPACE], "sandbox": {"read": [DIR], "network": "none"}`,
		"memory":     `""], "env": {"MEMORY_FILE_PATH": "` + s.path("../notes/memory.jsonl") + `"}, "sandbox": {"read": [DIR], "write": ["` + s.path("../notes") + `"], "network": "none"}`,
	} {
		rest = strings.NewReplacer("DIR", quote(dir), "WORKSPACE", quote(s.path("workspace"))).Replace(rest)
		entries = append(entries, fmt.Sprintf(`%q: {"command": %q, "args": [%q, %s}`, name, node, filepath.Join(dir, "@modelcontextprotocol", "server-"+name, "dist", "index.js"), rest))
	}
	s.configure("", "")
	s.write(".mcp.json", `{"mcpServers": {`+strings.Join(entries, ", ")+`}}`)
	s.write("../notes/keep", "")
	s.write("workspace/keep", "")
	s.own(".mcp.json", "../notes", "workspace")
	s.cycle(t,
		call("everything__echo", `{"message": "hi"}`),
		call("filesystem__write_file", `{"path": `+quote(s.path("workspace/notes.txt"))+`, "content": "one"}`),
		call("filesystem__read_text_file", `{"path": `+quote(s.path("workspace/notes.txt"))+`}`),
		call("memory__create_entities", `{"entities": [{"name": "a", "entityType": "b", "observations": ["c"]}]}`),
	)
	if text := s.read("../notes/memory.jsonl"); !strings.Contains(text, `"name":"a"`) {
		t.Errorf("the memory server remembers %q", text)
	}
}
