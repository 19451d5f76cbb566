package dispatcher

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// escaped is the secret in needless escapes, which no text search finds.
func escaped() string {
	var b strings.Builder
	for _, r := range secret {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

// A secret behind needless JSON escapes, or in what the operator wrote, reaches
// neither the journal nor what the cycle adds to the memory.
func TestSecretInActions(t *testing.T) {
	for _, a := range [][2]string{
		{"say", `{"text":"` + escaped() + `"}`},
		{escaped(), `{"text":"x"}`},
		{"update_scratchpad", `{"found":{"` + escaped() + `":["` + escaped() + `"]}}`},
		{"update_scratchpad", `{"` + escaped() + `":1}`},
		{"done", `{"summary":"` + escaped() + `"}`},
	} {
		d, r := newDispatcher(t, "current_task: use "+secret+"\npending_actions: [then "+secret+"]\n")
		name, err := unquote(a[0])
		if err != nil {
			t.Fatal(err)
		}
		o := do(t, d, name, a[1])
		for what, v := range map[string]any{"observation": o, "journal": r.events} {
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), secret) || strings.Contains(string(text), escaped()[:12]) {
				t.Errorf("%v: the %s holds the secret: %s", a, what, text)
			}
		}
		if notes := d.State.Notes(); strings.Contains(notes, secret) {
			t.Errorf("%v: notes %q", a, notes)
		}
	}
}

func unquote(s string) (text string, err error) {
	return text, json.Unmarshal([]byte(`"`+s+`"`), &text)
}

// Arguments that hold no secret stay as the model wrote them.
func TestHarmlessEscapesStay(t *testing.T) {
	d, _ := newDispatcher(t, "")
	const args = `{"text":"\u0061\n\u00e9","n":1.50}`
	if got := d.Redact.JSON(json.RawMessage(args)); string(got) != args {
		t.Errorf("%s", got)
	}
}
