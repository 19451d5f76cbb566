package journal

import (
	"io"
	"os"
	"time"

	"rouse/internal/proc"
)

// Growing reads a file that grows: at its end it waits, if it is to follow it and
// while the process that writes it lives.
type Growing struct {
	File   *os.File
	Follow bool
	Owner  proc.Identity // of the writer, once that is known
	// Wait, unless nil, waits for more, and says whether to go on.
	Wait func() bool
}

// Read waits for more at the end.
func (t *Growing) Read(p []byte) (int, error) {
	for {
		alive := t.Owner.PID == 0 || t.Owner.Alive() // asked before the last look
		n, err := t.File.Read(p)
		if n > 0 || err != io.EOF || !t.Follow || !alive {
			return n, err
		}
		if t.Wait == nil {
			time.Sleep(100 * time.Millisecond)
		} else if !t.Wait() {
			return 0, io.EOF
		}
	}
}
