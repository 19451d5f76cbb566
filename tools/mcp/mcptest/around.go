package mcptest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FreePort is one of 127.0.0.1 at which nobody listens.
func FreePort(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// Await waits until somebody listens at an address.
func Await(t testing.TB, addr string) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 6000 {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			return
		}
		<-tick.C
	}
	t.Fatalf("nobody listens at %s", addr)
}

// Left lists the processes that work in dir or below.
func Left(dir string) (list []string) {
	procs, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, p := range procs {
		stat, err := os.ReadFile(filepath.Join(filepath.Dir(p), "stat"))
		cwd, err2 := os.Readlink(p)
		if err == nil && err2 == nil && strings.HasPrefix(cwd, dir) && !strings.Contains(string(stat), ") Z ") {
			list = append(list, fmt.Sprintf("%s %.60s", p, stat))
		}
	}
	return list
}
