// Command measure runs a program with its output thrown away, and prints what
// it cost as JSON. It stands between the benchmark and the program because of
// its size: on Linux a new process inherits the peak memory of the process that
// started it (setmax_mm_hiwater_rss in fs/exec.c), so that must be a small one.
package main

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

func main() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stderr = os.Stderr
	begun := time.Now()
	err := cmd.Run()
	wall := time.Since(begun)
	if err != nil {
		os.Stderr.WriteString("measure: " + err.Error() + "\n")
		os.Exit(1)
	}
	s := cmd.ProcessState
	report(map[string]int64{
		"wall": int64(wall),
		"cpu":  int64(s.UserTime() + s.SystemTime()),
		"peak": s.SysUsage().(*syscall.Rusage).Maxrss,
	})
}

// report writes JSON without package encoding/json, which would add to the size.
func report(figures map[string]int64) {
	sep, text := "{", ""
	for name, n := range figures {
		text += sep + strconv.Quote(name) + ":" + strconv.FormatInt(n, 10)
		sep = ","
	}
	os.Stdout.WriteString(text + "}\n")
}
