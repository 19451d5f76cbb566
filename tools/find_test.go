package tools

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestFind finds hidden tools by words: those in a name before those in a description, and rare ones before
// those that all have. What has no room is said in a line, and what even that has no room for is counted.
func TestFind(t *testing.T) {
	list := []Tool{
		{Name: "shell"}, {Name: "water", Source: "command water", Description: "Waters the plants."},
		{Name: "mail__list_messages", Source: "mcp mail", Description: "Lists the messages of a folder. The newest come first."},
		{Name: "mail__sendMessage", Source: "mcp mail", Description: "Sends a message to somebody.", Raw: []byte(`{"properties":{"bcc":{}}}`)},
		{Name: "mail__delete_messages", Source: "mcp mail", Description: "Removes messages for good."},
		{Name: "web__screenshot", Source: "mcp web", Description: "Takes a picture of the page."}, {Name: "web__navigate", Source: "mcp web", Description: "Opens a page by its address."},
	}
	for query, want := range map[string]string{
		"": "", "nonsense": "", "send a message": "mail__sendMessage", "bcc": "mail__sendMessage", "the pages": "web__screenshot web__navigate", "web": "web__screenshot web__navigate",
		"MAIL": "mail__list_messages mail__sendMessage mail__delete_messages", "web__navigate": "web__navigate", "plant": "water", "screenshots": "web__screenshot",
		strings.Repeat("zq ", 200) + "screenshot": "", // it would take long
	} {
		for _, most := range []int{16 << 10, 300} {
			find := Behind(list, most)[len(list)]
			said := fmt.Sprint(find.Run(t.Context(), Call{Args: fmt.Appendf(nil, `{"query":%q}`, query)}).Content)
			var names []string
			for _, m := range regexp.MustCompile(`(?m)^- (\w+)`).FindAllStringSubmatch(said, -1) {
				names = append(names, m[1])
			}
			got := strings.Join(names, " ")
			if all := most > 300 || strings.Count(want, " ") < 2; all && got != want || !all && !strings.Contains(said, "\nand 1 more: ") || strings.Contains(want, "send") && most > 300 && !strings.Contains(said, `args: {"properties":{"bcc":{}}}`) {
				t.Errorf("%q within %d finds %s", query, most, said)
			}
		}
	}
	if all := Behind(list, 0); !strings.HasSuffix(all[7].Description, ": commands (1), mail (3), web (2)") || all[0].Hidden || !all[1].Hidden || list[1].Hidden || len(Behind(all, 0)) != len(all) {
		t.Errorf("%+v", all)
	}
}
