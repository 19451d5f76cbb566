package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestFind finds hidden tools by words: those in a name before those in a description, and rare ones before
// those that all have.
func TestFind(t *testing.T) {
	list := []Tool{{Name: "shell", Description: "Runs a command."}}
	for i, said := range []string{
		"mail/list_messages: Lists the messages of a folder. The newest come first.", "mail/sendMessage: Sends a message to somebody.",
		"mail/delete_messages: Removes messages for good. args: folder", "web/take_screenshot: Takes a picture of the page.", "web/navigate: Opens a page by its address.",
	} {
		name, description, _ := strings.Cut(said, ": ")
		server, own, _ := strings.Cut(name, "/")
		list = append(list, Tool{Name: server + "__" + own, Source: "mcp " + server, Description: description, Raw: json.RawMessage(fmt.Sprintf(`{"$schema":"x","type":"object","properties":{"arg_%d":{}}}`, i))})
	}
	list = append(list, Tool{Name: "water", Source: "command water", Description: "Waters the plants.\nWith care."})
	all := Behind(list, 16<<10)
	find := all[len(all)-2]
	if !strings.HasSuffix(find.Description, ": mail (3), web (2), commands (1)") || all[0].Hidden || !all[1].Hidden || list[1].Hidden {
		t.Errorf("%+v", all)
	}
	ask := func(find Tool, query string) (names []string, said Result) {
		args, _ := json.Marshal(map[string]string{"query": query})
		said = find.Run(t.Context(), Call{Args: args})
		for line := range strings.Lines(fmt.Sprint(said.Content)) {
			if rest, ok := strings.CutPrefix(line, "- "); ok {
				name, _, _ := strings.Cut(rest, ": ")
				names = append(names, name)
			}
		}
		return names, said
	}
	for query, want := range map[string]string{
		"":                           "",
		"nonsense":                   "",
		"send a message":             "mail__sendMessage mail__list_messages mail__delete_messages",
		"picture":                    "web__take_screenshot",
		"the page":                   "web__take_screenshot web__navigate",
		"web":                        "web__take_screenshot web__navigate",
		"MAIL":                       "mail__list_messages mail__sendMessage mail__delete_messages",
		"web__navigate":              "web__navigate web__take_screenshot",
		"arg_2":                      "mail__delete_messages",
		"plant":                      "water",
		"commands":                   "water",
		"screenshots, mail messages": "web__take_screenshot mail__list_messages mail__sendMessage mail__delete_messages",
	} {
		names, said := ask(find, query)
		if got := strings.Join(names, " "); got != want || query != "nonsense" && !said.OK {
			t.Errorf("%q finds %q: %+v", query, got, said)
		}
	}
	if _, said := ask(find, "water"); said.Content != "- water: Waters the plants.\n  With care.\n  args: {\"type\":\"object\"}\n" || !said.Whole {
		t.Errorf("%+v", said)
	}
	// What has no room is said in a line, and what even that has no room for is counted.
	all = Behind(list, 330)
	if names, said := ask(all[len(all)-2], "mail"); len(names) != 2 || !strings.Contains(fmt.Sprint(said.Content), "\nand 1 more: ") || !said.Whole {
		t.Errorf("%v %+v", names, said)
	}
	// Commands that have the names keep them.
	if got := Behind([]Tool{{Name: CallName, Source: "command " + CallName}}, 0); len(got) != 1 || got[0].Hidden {
		t.Errorf("%+v", got)
	}
}
