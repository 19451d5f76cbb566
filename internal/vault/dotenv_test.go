package vault

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A line of .env is fit if a shell finds the same value in it as we do, and no
// other line is. Crontabs of older versions have a shell read it first.
func TestCheckEnv(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ".env")
	for line, fit := range map[string]bool{
		"A=b": true, "A='b $c `d` \"'": true, `A="b c"`: true, "export A=b": true, "A=sk-a_b/c+d==": true, "A=": true, "A=b # c": true, "A=[*]": true,
		"A=b c": false, "A=b$c": false, "A=b`c`": false, "A=b&c": false, "A=b;c": false, `A="b$c"`: false, `A="b\nc"`: false, "A=~": false,
		"A=it's": false, "A=b\r": false, "A = b": false, "A.B=c": false, "A=(b)": false, "A=b>c": false, `A=b\c`: false, "no": false,
	} {
		if err := os.WriteFile(path, []byte("# first\n"+line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		env, err := ReadEnv(path)
		if err == nil {
			err = CheckEnv(path)
		}
		if fit != (err == nil) {
			t.Errorf("%q: %q, %v", line, env, err)
		}
		if !fit {
			continue
		}
		sh := exec.Command("/bin/sh", "-c", `set -a; . ./.env; printf %s "$A"`)
		sh.Dir, sh.Env = dir, []string{"PATH=/usr/bin:/bin"}
		if got, err := sh.Output(); err != nil || len(env) != 1 || string(got) != env[0].Value {
			t.Errorf("%q is %q to a shell, and %q to us: %v", line, got, env, err)
		}
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := CheckEnv(path); err == nil {
		t.Error("others may read it")
	}
}
