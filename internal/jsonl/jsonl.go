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
	"io"
	"io/fs"
	"iter"

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
		file := File{Path: path}
		defer file.Close()
		switch _, err := file.reader(); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			yield(*new(T), err)
		default:
			Values[T](file.r)(yield)
		}
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
