// Command observe stores a file as an observation, or does the least that a Go
// program must to keep a file: write it, hash it, and sync it.
//
//	observe put zstd|raw FOLDER FILE
//	observe plain COPY FILE
//
// FOLDER is that of the store. Both read FILE in pieces of 32 KiB, as the output
// of a program comes.
package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"rouse/internal/proc"
	"rouse/scratchpad/observation"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "observe: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 4 && args[0] == "put":
		return put(observation.Codec(args[1]), args[2], args[3])
	case len(args) == 3 && args[0] == "plain":
		return plain(args[1], args[2])
	}
	return errors.New("usage: observe put zstd|raw FOLDER FILE, or observe plain COPY FILE")
}

func put(codec observation.Codec, dir, file string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	s, err := observation.Open(dir, observation.Options{Codec: codec, MaxBytes: 1 << 40})
	if err != nil {
		return err
	}
	turn, err := s.Begin("bench", proc.Self())
	if err != nil {
		return err
	}
	w := turn.Create(observation.Origin{Step: 1, Executor: "bench"})
	if err := pour(w, in); err != nil {
		return err
	}
	if _, err := w.Commit(nil); err != nil {
		return err
	}
	return s.Close()
}

func plain(name, file string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := pour(io.MultiWriter(out, sha256.New()), in); err != nil {
		return err
	}
	return errors.Join(out.Sync(), out.Close())
}

// pour copies through a buffer, with none of the short cuts that files have.
func pour(w io.Writer, r io.Reader) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, 32<<10))
	return err
}
