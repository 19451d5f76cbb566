package conversation

import (
	"os"
	"path/filepath"
	"testing"
)

// TestEst compares the estimate with what the o200k tokenizer counts of texts
// that it was not fitted to. The counts are those of tiktoken-go/tokenizer
// v0.10.0, which is not a dependency: its tables are 11 MB.
func TestEst(t *testing.T) {
	tests := []struct {
		file  string
		exact int
	}{
		{"prose.txt", 939}, {"code.txt", 1498}, {"log.txt", 2276}, {"json.txt", 1982}, {"chinese.txt", 432},
	}
	for _, tt := range tests {
		text, err := os.ReadFile(filepath.Join("testdata", tt.file))
		if err != nil {
			t.Fatal(err)
		}
		off := float64(Est(string(text)))/float64(tt.exact) - 1
		t.Logf("%s: %d tokens, estimate %+.0f %%, a quarter of the bytes %+.0f %%",
			tt.file, tt.exact, off*100, (float64(len(text)/4)/float64(tt.exact)-1)*100)
		if off < -0.2 || off > 0.3 {
			t.Errorf("%s: %d for %d tokens", tt.file, Est(string(text)), tt.exact)
		}
	}
}

func FuzzEst(f *testing.F) {
	f.Add("a text, 12 words\n")
	f.Fuzz(func(t *testing.T, s string) {
		if n := Est(s); n < 0 || n > 2*len(s)+1 {
			t.Errorf("%d tokens of %d bytes", n, len(s))
		}
	})
}
