package observation

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const sharedID = "0123456789abcdef"

// share lays a content as a worker does.
func share(t *testing.T, dir string, data []byte, change func(*Note)) string {
	t.Helper()
	n := Note{Home: "moon", Tool: "shell", Kind: Text, Bytes: int64(len(data)), SHA256: fmt.Sprintf("%x", sha256.Sum256(data)),
		Origins: []string{"mcp mail"}, Expires: time.Now().Add(time.Hour)}
	if change != nil {
		change(&n)
	}
	note, err := json.Marshal(n)
	path := filepath.Join(dir, "fleet", sharedID)
	if err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600), os.WriteFile(path+".json", note, 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// Whatever is shared is read in all parts as an observation of one's own is.
func TestSharedReads(t *testing.T) {
	text := strings.Repeat("a line with é\n", 20_000) + "needle\nlast" // cut into chunks
	binary := make([]byte, 300_000)
	for i := range binary {
		binary[i] = byte(rand.Uint32())
	}
	own := begin(t, openStore(t, "", Options{}), "20261122_120000")
	for name, data := range map[string][]byte{"text": []byte(text), "binary": binary, "small": []byte("x"), "empty": nil, "json": []byte(`{"n": 7}`)} {
		dir, e := t.TempDir(), put(t, own, data)
		share(t, dir, data, func(n *Note) { n.Kind = e.Kind })
		s := &Shared{Dir: dir}
		for range 2 { // the second time its index is known
			shared, err := s.Get("fleet:" + sharedID)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			mine, err := own.Get(e.ID)
			if err != nil {
				t.Fatal(err)
			}
			var all bytes.Buffer
			if _, err := shared.WriteTo(&all); err != nil || !bytes.Equal(all.Bytes(), data) {
				t.Errorf("%s: %d bytes of %d: %v", name, all.Len(), len(data), err)
			}
			if got := strings.Join(shared.From, ", "); got != "mcp mail, fleet moon" {
				t.Errorf("it is from %s", got)
			}
			for _, u := range []Unit{Bytes, Chars, Lines} {
				for _, from := range []int64{0, 3, 19_999, 150_000, 299_990} {
					a, errA := mine.Slice(u, from, from+9, 1000)
					b, errB := shared.Slice(u, from, from+9, 1000)
					if !bytes.Equal(a.Data, b.Data) || a.Total != b.Total || a.End != b.End || errA != nil || errB != nil {
						t.Errorf("%s: %s from %d: %q of %d, want %q of %d: %v, %v", name, u, from, b.Data, b.Total, a.Data, a.Total, errA, errB)
					}
				}
			}
			a, errA := mine.Grep(t.Context(), Query{Pattern: "needle|n.: 7", MaxMatches: 9, MaxBytes: 1000})
			b, errB := shared.Grep(t.Context(), Query{Pattern: "needle|n.: 7", MaxMatches: 9, MaxBytes: 1000})
			if fmt.Sprint(a, errA) != fmt.Sprint(b, errB) {
				t.Errorf("%s: grep finds %v, want %v: %v, %v", name, b, a, errB, errA)
			}
			if found, err := shared.JSON(t.Context(), ".n", 100); name == "json" && (err != nil || strings.TrimSpace(string(found.Data)) != "7") {
				t.Errorf("jq finds %s: %v", found.Data, err)
			}
			_, _ = shared.Close(), mine.Close()
		}
	}
}

// What is not to be read is no observation at all, and what is damaged is said.
func TestSharedRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		id      string
		note    func(*Note)
		spoil   func(path string) error
		damaged bool
	}{
		"foreign":      {id: "fleet:fedcba9876543210"},
		"no id":        {id: "fleet:../../active"},
		"longer":       {id: "fleet:" + sharedID + "0"},
		"without name": {id: sharedID},
		"expired":      {note: func(n *Note) { n.Expires = time.Now() }},
		"no note":      {spoil: func(path string) error { return os.Remove(path + ".json") }},
		"no content":   {spoil: os.Remove},
		"a byte":       {spoil: func(path string) error { return os.WriteFile(path, []byte("same sIze"), 0o600) }, damaged: true},
		"cut":          {spoil: func(path string) error { return os.Truncate(path, 3) }, damaged: true},
		"odd note":     {spoil: func(path string) error { return os.WriteFile(path+".json", []byte("{"), 0o600) }, damaged: true},
		"of no home":   {note: func(n *Note) { n.Home = "" }, damaged: true},
		"another hash": {note: func(n *Note) { n.SHA256 = "00" }, damaged: true},
	} {
		dir := t.TempDir()
		path := share(t, dir, []byte("same size"), c.note)
		if c.spoil != nil {
			if err := c.spoil(path); err != nil {
				t.Fatal(err)
			}
		}
		if c.id == "" {
			c.id = "fleet:" + sharedID
		}
		_, err := (&Shared{Dir: dir}).Get(c.id)
		if want := ErrNotFound.Error(); !c.damaged && (err == nil || err.Error() != want) || c.damaged && !errors.Is(err, errShared) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := new(Shared).Get("fleet:" + sharedID); !errors.Is(err, ErrNotFound) {
		t.Errorf("without a folder: %v", err)
	}
}

func TestNamesShared(t *testing.T) {
	for text, want := range map[string]bool{"": false, "the fleet: 3 cars": false, "see fleet:" + sharedID + ".": true, "fleet:fleet:" + sharedID: true, "fleet:0123456789abcde": false} {
		if NamesShared(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
