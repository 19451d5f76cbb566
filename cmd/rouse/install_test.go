package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A line of .env is taken if a shell finds the same value in it as we do, and no
// other line is.
func TestReadEnv(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ".env")
	for line, taken := range map[string]bool{
		"A=b": true, "A='b $c `d` \"'": true, `A="b c"`: true, "export A=b": true, "A=sk-a_b/c+d==": true, "A=": true, "A=b # c": true, "A=[*]": true,
		"A=b c": false, "A=b$c": false, "A=b`c`": false, "A=b&c": false, "A=b;c": false, `A="b$c"`: false, `A="b\nc"`: false, "A=~": false,
		"A=it's": false, "A=b\r": false, "A = b": false, "A.B=c": false, "A=(b)": false, "A=b>c": false, `A=b\c`: false, "no": false,
	} {
		if err := os.WriteFile(path, []byte("# first\n"+line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		env, err := readEnv(path)
		if taken != (err == nil) {
			t.Errorf("%q: %q, %v", line, env, err)
		}
		if !taken {
			continue
		}
		sh := exec.Command("/bin/sh", "-c", `set -a; . ./.env; printf %s "$A"`)
		sh.Dir, sh.Env = dir, []string{"PATH=/usr/bin:/bin"}
		if got, err := sh.Output(); err != nil || string(got) != env["A"] {
			t.Errorf("%q is %q to a shell, and %q to us: %v", line, got, env["A"], err)
		}
	}
}
