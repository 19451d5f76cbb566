package local

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
)

// maxNames bounds how many variables are told, and maxLine the line about one, in bytes.
const maxNames, maxLine = 10_000, 64 << 10

// Saved are the names of the variables that the notebook in dir has saved, sorted, those
// of imports apart. Of a file that is damaged it gives what comes before that.
func Saved(dir string) (names []string) {
	f, err := os.Open(filepath.Join(dir, variablesName))
	if err != nil {
		return nil
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, maxLine)
	_, err = in.ReadSlice('\n') // names the format
	for err == nil && len(names) < maxNames {
		var line []byte
		if line, err = in.ReadSlice('\n'); err != nil {
			break
		}
		var v struct {
			Name   string
			Bytes  int
			Import json.RawMessage
		}
		if err = json.Unmarshal(line, &v); err != nil || v.Name == "" {
			break // the end
		}
		if v.Import == nil {
			names = append(names, v.Name)
		}
		_, err = in.Discard(max(0, v.Bytes))
	}
	slices.Sort(names)
	return names
}
