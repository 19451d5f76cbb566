package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"rouse/bench/o200k"
	"rouse/internal/sweep"
	"rouse/tools"
	"rouse/tools/mcp/mcptest"
)

// TestFindTool has a cycle work with five servers that many people have, whose tools would fill a request: what
// is wanted is found by words for it.
func TestFindTool(t *testing.T) {
	if sweep.Of(true, false, false) {
		t.Skip("five servers take seconds: ROUSE_SWEEP=wide")
	}
	s, server := limited(t, "{}", false)
	servers := map[string]any{}
	for name, path := range map[string]string{
		"chrome": "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js", "playwright": "@playwright/mcp/cli.js", "notion": "@notionhq/notion-mcp-server/bin/cli.mjs",
		"files": "@modelcontextprotocol/server-filesystem/dist/index.js", "memory": "@modelcontextprotocol/server-memory/dist/index.js",
	} {
		node, script := mcptest.NPM(t, path)
		args := map[bool][]string{false: {script}, true: {script, t.TempDir()}}[name == "files"]
		servers[name] = map[string]any{"command": node, "args": args, "env": map[string]string{"NOTION_TOKEN": "none"}}
	}
	text, _ := json.Marshal(map[string]any{"mcpServers": servers})
	wrote := os.WriteFile(s.Home.Servers(), text, 0o600)
	s, err := Open(s.Home, s.Process)
	if err = errors.Join(wrote, err, cycle(t, s).Err); err != nil {
		t.Fatal(err)
	}
	parts, err := o200k.Of(server.Requests()[0].Body)
	if all := parts[len(parts)-1].Tokens; err != nil || all > 2000 {
		t.Errorf("the first request takes %d tokens: %v", all, err)
	}
	ag, _ := s.Agent() // it ran
	var list []tools.Tool
	for _, tool := range ag.Offered() {
		if place, _, _ := strings.Cut(tool.Name, "__"); tool.Hidden {
			tool.Source = "mcp " + place
			list = append(list, tool)
		}
	}
	find := tools.Behind(list, 16<<10)[len(list)]
	look := func(query string) string {
		r := find.Run(t.Context(), tools.Call{Args: fmt.Appendf(nil, `{"query": %q}`, query)})
		return fmt.Sprint(r.Content, r.Error)
	}
	t.Log(parts, len(list), "tools", look(""))
	queries := map[string]string{
		"read a text file": "files__read_text_file", "list a directory": "files__list_directory", "search files by pattern": "files__search_files", "move or rename a file": "files__move_file",
		"take a screenshot of the page": "chrome__take_screenshot", "network requests of a page": "chrome__list_network_requests", "performance trace": "chrome__performance_start_trace", "fill a form": "chrome__fill_form",
		"open a url in the browser": "playwright__browser_navigate", "click on a button": "playwright__browser_click", "close a tab": "playwright__browser_tabs", "run javascript": "chrome__evaluate_script",
		"remember a fact about an entity": "memory__add_observations", "knowledge graph": "memory__read_graph", "create relation between entities": "memory__create_relations",
		"create a notion page": "notion__API-post-page", "comments of a page": "notion__API-retrieve-a-comment", "search notion by title": "notion__API-post-search", "query a database": "notion__API-query-data-source", "who are the users": "notion__API-get-users",
	}
	for _, tool := range list {
		first, _, _ := strings.Cut(strings.ReplaceAll(tool.Description, "\n", "."), ".")
		queries[tool.Name], queries[first] = tool.Name, tool.Name
	}
	for query, want := range queries {
		if said := look(query); !strings.Contains(said, "- "+want+": ") {
			t.Errorf("%q does not find %s: %s", query, want, said)
		}
	}
}
