// Package jsonl is a file of JSON values, one a line, that is only ever added to.
//
// A process that is killed, or a disk that is full, may leave half a line at the
// end. Whoever adds next begins a line of its own, and whoever reads passes over
// what is no value: what is lost is the one line that was never acknowledged.
package jsonl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"

	"rouse/internal/disk"
)

// Marshal makes one line of each value.
func Marshal[T any](values ...T) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, v := range values {
		if err := enc.Encode(v); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// Append adds lines to the file at path, as [File.Append] does.
func Append(f disk.FS, path string, lines []byte, durable bool) error {
	file := File{FS: f, Path: path}
	return errors.Join(file.Append(lines, durable), file.Close())
}

// Writer adds lines to a file. It is for one goroutine at a time.
type Writer struct {
	disk.File
	torn bool // the file may end in half a line
}

// Open opens a file to be added to, and makes it where there is none.
func Open(f disk.FS, path string) (*Writer, error) {
	file, err := f.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	reading := File{Path: path}
	defer reading.Close()
	return &Writer{file, reading.torn()}, nil
}

// Add adds lines with one call of the system; none follows half of another one.
func (w *Writer) Add(lines []byte) error {
	if w.torn {
		lines = append([]byte{'\n'}, lines...)
	}
	w.torn = true
	_, err := w.File.Write(lines)
	w.torn = err != nil
	return err
}

// open opens a file for reading. It waits for no FIFO.
func open(path string) (*os.File, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file; move it away", path)
	}
	return os.Open(path)
}

// maxLine is the longest line that is read, in bytes.
const maxLine = 512 << 20

// Values gives the values of lines, one in memory at a time. It passes over lines
// that are none.
func Values[T any](r io.Reader) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxLine)
		for lines.Scan() {
			var v T
			if json.Unmarshal(lines.Bytes(), &v) == nil && !yield(v, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(*new(T), err)
		}
	}
}

// Read gives the [Values] of a file. One that does not exist has none.
func Read[T any](path string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		f, err := open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(*new(T), err)
			return
		}
		defer f.Close()
		Values[T](f)(yield)
	}
}

// Tail is [File.Tail] of the file at path.
func Tail(path string, bytes int64, enough func(lines []byte) bool) (size int64, err error) {
	file := File{Path: path}
	defer file.Close()
	return file.Tail(bytes, enough)
}

// end reads the whole lines in the last bytes.
func end(r io.ReaderAt, size, want int64) ([]byte, error) {
	data := make([]byte, min(want, size))
	if _, err := r.ReadAt(data, size-int64(len(data))); err != nil && err != io.EOF {
		return nil, err
	}
	if want >= size {
		return data, nil
	}
	_, data, _ = bytes.Cut(data, []byte{'\n'})
	return data, nil
}
