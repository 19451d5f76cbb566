package proc

import (
	"bytes"
	"os/exec"
	"testing"
)

func BenchmarkOsExec(b *testing.B) {
	for b.Loop() {
		var out bytes.Buffer
		c := exec.Command("sh", "-c", "date -u")
		c.Stdout, c.Stderr = &out, &out
		if err := c.Run(); err != nil {
			b.Fatal(err)
		}
	}
}
