package budget

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rouse/home"
)

func TestUsage(t *testing.T) {
	h := home.Home{Dir: t.TempDir()}
	if err := os.Mkdir(h.Logs(), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"cycle_20260430_235959.jsonl": `{"v":1,"seq":1,"time":"2026-04-30T23:59:59Z","cycle":"c","event":"wake"}
{"v":1,"seq":2,"time":"2026-04-30T23:59:59Z","cycle":"c","event":"reply","text":"","usage":{"input":1000,"cached":400,"output":100},"ms":1}
{"v":1,"seq":3,"time":"2026-04-30T23:59:59Z","cycle":"c","event":"result","step":1,"tool":"shell","ok":true}
{"v":1,"seq":4,"time":"2026-05-01T00:00:01Z","cycle":"c","event":"reply","text":"an \"event\":\"result\" in a text","usage":{"input":10,"output":1},"ms":1,"model":"big"}
`,
		"cycle_20260501_000100.jsonl": `{"v":1,"seq":1,"time":"2026-05-01T00:01:00Z","cycle":"d","event":"wake"}` + "\n",
		"cycle_20260501_000200.jsonl": `{"v":1,"seq":2,"time":"2026-05-01T00:02:00Z","cycle":"e","event":"reply","usage":{"input":1000,"output":0}}` + "\n" + `{"v":1,"ev`,
		"ledger.jsonl":                "{}",
	} {
		if err := os.WriteFile(filepath.Join(h.Logs(), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	prices, err := parsePrices([]byte("models: {small: {input: 1, cached: 0.1, output: 10}}"))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		by   string
		want []Row
	}{
		{"day", []Row{
			{"2026-04-30", 1, 2, 1010, 400, 101, 1, 1_640_000, false},
			{"2026-05-01", 2, 1, 1000, 0, 0, 0, 1_000_000, true},
		}},
		{"cycle", []Row{
			{"20260430_235959", 1, 2, 1010, 400, 101, 1, 1_640_000, false},
			{"20260501_000100", 1, 0, 0, 0, 0, 0, 0, true},
			{"20260501_000200", 1, 1, 1000, 0, 0, 0, 1_000_000, true},
		}},
		{"model", []Row{
			{"big", 1, 1, 10, 0, 1, 0, 0, false},
			{"small", 2, 2, 2000, 400, 100, 1, 2_640_000, true},
		}},
	}
	for _, tt := range tests {
		got, err := Usage(h, tt.by, "small", prices, "", nil)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.by, err, diff)
		}
	}
	if got, err := Usage(home.Home{Dir: filepath.Join(h.Dir, "none")}, "day", "", prices, "", nil); len(got) > 0 || err != nil {
		t.Error(got, err)
	}
	if sum := Total(tests[0].want); sum.Cycles != 3 || sum.Money != 2_640_000 || sum.Priced {
		t.Errorf("%+v", sum)
	}
}
