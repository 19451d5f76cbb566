package serve

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// ReadTokens reads a file of lines with a tenant's name and its token, which others
// cannot read.
func ReadTokens(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read by others: chmod 600 %s", path, path)
	}
	list, lines := map[string]string{}, bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 2 || list[fields[0]] != "" {
			return nil, fmt.Errorf("%s, line %d: write a tenant's name, once, and its token", path, n)
		}
		list[fields[0]] = fields[1]
	}
	return list, lines.Err()
}
