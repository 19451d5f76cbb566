package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// The help of every verb says what its exit codes mean.
func TestHelpSaysExitCodes(t *testing.T) {
	a := &app{stdout: os.Stdout, stderr: os.Stderr, now: time.Now}
	verbs := 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if verbs++; !strings.Contains(c.Long, exitCodes) {
			t.Errorf("%s: %s", c.CommandPath(), c.Long)
		}
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	if walk(a.root()); verbs < 50 {
		t.Errorf("%d verbs", verbs)
	}
}

// A screen that shows nothing but ASCII gets Rouse's own marks in it.
func TestPlainScreen(t *testing.T) {
	if got := (&screen{plain: true}).own("   → 3 …"); got != "   -> 3 ..." {
		t.Error(got)
	}
}
