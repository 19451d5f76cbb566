// Command bare does what a cycle with one call does, with nothing around it: it
// asks a model twice by streaming, runs the command that the first reply asks
// for, and writes as many durable files as `rouse run` does. It says what the
// work itself costs in Go.
//
//	bare URL SIZE1 SIZE2
//
// The sizes are those of the two request bodies, in bytes. The files go to the
// current folder.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "bare: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: bare URL SIZE1 SIZE2")
	}
	journal, err := os.Create("journal")
	if err != nil {
		return err
	}
	if err := replace("before", "task: tell the time\n"); err != nil {
		return err
	}
	command, err := ask(args[0], args[1])
	if err != nil {
		return err
	}
	// The journal's own name was made durable with that of before.
	if err := record(journal, command); err != nil {
		return err
	}
	date, err := exec.Command("sh", "-c", command).Output()
	if err != nil {
		return err
	}
	if _, err := ask(args[0], args[2]); err != nil {
		return err
	}
	return sleep(journal, string(date))
}

func sleep(journal *os.File, date string) error {
	for _, name := range []string{"after", "active"} {
		if err := replace(name, date); err != nil {
			return err
		}
	}
	return record(journal, date)
}

// record makes a line of the journal durable.
func record(journal *os.File, line string) error {
	if _, err := journal.WriteString(line + "\n"); err != nil {
		return err
	}
	return journal.Sync()
}

// replace makes a whole file durable, and its name.
func replace(name, text string) error {
	f, err := os.Create(name + ".tmp")
	if err != nil {
		return err
	}
	defer f.Close()
	if err := record(f, text); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	return syncFolder()
}

func syncFolder() error {
	d, err := os.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// ask sends a request of size bytes and gives the command of the reply.
func ask(url, size string) (string, error) {
	n, err := strconv.Atoi(size)
	if err != nil {
		return "", err
	}
	resp, err := http.Post(url+"/chat/completions", "application/json", bytes.NewReader(body(n)))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var text strings.Builder
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		piece, err := delta(data)
		if err != nil {
			return "", err
		}
		text.WriteString(piece)
	}
	var call struct{ Args struct{ Command string } }
	err = json.Unmarshal([]byte(text.String()), &call)
	return call.Args.Command, err
}

// body is a request, filled up to n bytes.
func body(n int) []byte {
	const head, tail = `{"model":"m","stream":true,"messages":[{"role":"user","content":"`, `"}]}`
	return []byte(head + strings.Repeat("x", max(0, n-len(head)-len(tail))) + tail)
}

// delta is the text in one event of a stream.
func delta(data string) (string, error) {
	var event struct {
		Choices []struct{ Delta struct{ Content string } }
	}
	err := json.Unmarshal([]byte(data), &event)
	if err != nil || len(event.Choices) == 0 {
		return "", err
	}
	return event.Choices[0].Delta.Content, nil
}
