// Package house holds no code: its test is the house rules, those of CLAUDE.md
// that a program can check. It fails where one is broken and prints the figures
// of the code with `go test -v ./internal/house`.
package house
