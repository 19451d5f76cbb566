package journal

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestScan: each line of ours is found by its beginning, whatever it quotes, and what a
// crash left is none.
func TestScan(t *testing.T) {
	long := strings.Repeat("x", maxScanned)
	lines := []string{
		`{"v":1,"seq":1,"event":"wake"}`, "", `{"v":1,"event":"res`, "\x00\x00",
		`{"v":1,"event":"intent","step":12,"tool":"t","args":{"event":"sleep","step":1}}`,
		`{"event": "result", "step": 3}`, `{"v":1,"event":"approval","id":"a\"event\":\"x","step":4}`,
		`{"v":1,"event":"result","step":5,"content":"` + long + `"}`,
		`{"v":1,"event":"reply","text":"\"usage\":{","calls":[{"usage":{"input":9}}],"usage":{"input":1,"output":2},"ms":3,"model":"m","mac":"00"}`,
		`{"v":1,"event":"reply","text":"` + long + `","usage":{"input":1}}`, `{"v":1,"event":"sle`,
	}
	file := strings.Join(lines, "\n")
	var got []string
	for m, err := range Scan(strings.NewReader(file)) {
		if err != nil {
			t.Fatal(err)
		}
		if line := lines[m.Number-1]; file[m.At:m.At+m.Size] != line+"\n" || !bytes.HasPrefix([]byte(line+"\n"), m.Line) {
			t.Errorf("line %d is elsewhere: %d, %d", m.Number, m.At, m.Size)
		}
		model, used, ok := m.Spent()
		got = append(got, fmt.Sprintf("%d %s %d %s %d %v", m.Number, m.Event, m.Step, model, used.Input+used.Output, ok))
	}
	want := "[1 wake 0  0 false 5 intent 12  0 false 6 result 3  0 false 7 approval 4  0 false 8 result 5  0 false 9 reply 0 m 3 true 10 reply 0  0 false]"
	if fmt.Sprint(got) != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
