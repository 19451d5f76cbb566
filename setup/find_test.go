package setup

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"rouse/agent/conversation"
	"rouse/bench/o200k"
	"rouse/internal/sweep"
	"rouse/tools"
)

// npmServers are servers that many people have, in the form of .mcp.json, as npm ci installs them.
func npmServers(t *testing.T, dir string) string {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	modules, err := filepath.Abs(filepath.Join("..", "tools", "mcp", "testdata", "npm", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	node := filepath.Join(modules, "node-"+runtime.GOOS+"-"+arch, "bin", "node")
	var entries []string
	for _, e := range [][]string{
		{"chrome", "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js"},
		{"playwright", "@playwright/mcp/cli.js"},
		{"files", "@modelcontextprotocol/server-filesystem/dist/index.js", dir},
		{"memory", "@modelcontextprotocol/server-memory/dist/index.js"},
		{"notion", "@notionhq/notion-mcp-server/bin/cli.mjs"},
	} {
		e[1] = filepath.Join(modules, e[1])
		if _, err := os.Stat(e[1]); err != nil {
			t.Skip("the servers from npm are not installed: run npm ci --ignore-scripts in tools/mcp/testdata/npm (Linux)")
		}
		args, _ := json.Marshal(e[1:])
		entries = append(entries, fmt.Sprintf(`%q: {"command": %q, "args": %s, "env": {"MEMORY_FILE_PATH": %q, "NOTION_TOKEN": "none"}}`, e[0], node, args, filepath.Join(dir, "memory.jsonl")))
	}
	return `{"mcpServers": {` + strings.Join(entries, ", ") + `}}`
}

// TestFindTool has a cycle work with five servers that many people have, whose tools would fill a request: what
// is wanted is found by words for it, and called.
func TestFindTool(t *testing.T) {
	if sweep.Of(true, false, false) {
		t.Skip("five servers take seconds: ROUSE_SWEEP=wide")
	}
	dir := t.TempDir()
	servers := npmServers(t, dir)
	s, server := limited(t, "{}", false)
	if err := os.WriteFile(s.Home.Servers(), []byte(servers), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(s.Home, s.Process)
	if err != nil {
		t.Fatal(err)
	}
	if r := cycle(t, s); r.Err != nil || r.Exit != 0 {
		t.Fatalf("%+v", r)
	}
	parts, err := o200k.Of(server.Requests()[0].Body)
	if err != nil {
		t.Fatal(err)
	}
	if all := parts[len(parts)-1].Tokens; all > 2000 {
		t.Errorf("the first request takes %d tokens", all)
	}
	t.Log(parts)
	c, err := s.Servers()
	if err != nil {
		t.Fatal(err)
	}
	running := s.StartServers(t.Context(), c)
	defer running.Close()
	list := running.Tools()
	for _, srv := range c.Servers {
		var of []tools.Tool
		for _, tool := range list {
			if tool.Source == "mcp "+srv.Name {
				of = append(of, tool)
			}
		}
		t.Logf("%s: %d tools, %d tokens", srv.Name, len(of), conversation.EstTools(of, tools.NoteOff))
	}
	find := tools.Behind(list, 16<<10)[len(list)]
	look := func(query string) string {
		r := find.Run(t.Context(), tools.Call{Args: []byte(fmt.Sprintf(`{"query": %q}`, query))})
		return fmt.Sprint(r.Content, r.Error)
	}
	for _, tool := range list {
		if said := look(tool.Name); !strings.HasPrefix(said, "- "+tool.Name+": ") {
			t.Errorf("%s is not found by its name: %.200s", tool.Name, said)
		}
		first, _, _ := strings.Cut(tool.Description, ".")
		if said := look(first); !strings.Contains(said, "- "+tool.Name+": ") {
			t.Errorf("%s is not found by %q: %.200s", tool.Name, first, said)
		}
	}
	for query, want := range map[string]string{
		"read a text file": "files__read_text_file", "list a directory": "files__list_directory", "search files by pattern": "files__search_files", "move or rename a file": "files__move_file",
		"take a screenshot of the page": "chrome__take_screenshot", "network requests of a page": "chrome__list_network_requests", "performance trace": "chrome__performance_start_trace", "fill a form": "chrome__fill_form",
		"open a url in the browser": "playwright__browser_navigate", "click on a button": "playwright__browser_click", "close a tab": "playwright__browser_tabs", "run javascript": "chrome__evaluate_script",
		"remember a fact about an entity": "memory__add_observations", "knowledge graph": "memory__read_graph", "create relation between entities": "memory__create_relations",
		"create a notion page": "notion__API-post-page", "comments of a page": "notion__API-retrieve-a-comment", "search notion by title": "notion__API-post-search", "query a database": "notion__API-query-data-source", "who are the users": "notion__API-get-users",
	} {
		if said, _, _ := strings.Cut(look(query), "Further ones"); !strings.Contains(said, "- "+want+": ") {
			t.Errorf("%q does not find %s: %s", query, want, said)
		}
	}
}
