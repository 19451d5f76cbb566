//go:build !linux || !(amd64 || arm64)

package killtest

import (
	"errors"
	"fmt"
	"os/exec"
)

// Run gives an error that is [errors.ErrUnsupported].
func Run(*exec.Cmd, int, Counts) (Result, error) {
	return Result{}, fmt.Errorf("trace: only on Linux, amd64 or arm64: %w", errors.ErrUnsupported)
}
