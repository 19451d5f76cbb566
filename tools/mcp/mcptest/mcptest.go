// Package mcptest is an MCP server that can be told to be hostile. A test binary
// becomes it by calling [Main] in a process of its own.
//
// It is written by hand, a line of JSON a message, because a library would not
// let it do wrong.
package mcptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// Variable is the environment variable that holds the mode, for binaries whose
// arguments are not their own.
const Variable = "MCPTEST_MODE"

// Main is the server until its input ends. The file ./effect gets a line for
// each call that took effect.
func Main(mode string) {
	s := &server{mode: mode, in: bufio.NewReader(os.Stdin), out: os.Stdout}
	s.begin()
	for {
		line, err := s.in.ReadBytes('\n')
		if err != nil {
			s.end()
			return
		}
		var m message
		if json.Unmarshal(line, &m) == nil {
			s.take(m)
		}
	}
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Cursor    string          `json:"cursor"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

type server struct {
	mode  string
	in    *bufio.Reader
	out   io.Writer
	lists int
	calls int
	late  json.RawMessage // the id of a call that is answered when it is too late
}

// begin is what the server does before it reads anything.
func (s *server) begin() {
	switch s.mode {
	case "exit":
		fmt.Fprintln(os.Stderr, "config.json: no such file\nI give up")
		os.Exit(3)
	case "deaf": // reads the handshake only
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	case "stderr":
		go func() {
			for {
				fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 1000))
			}
		}()
	case "fork":
		s.fork()
	}
}

// end is what it does when its input has ended.
func (s *server) end() {
	for s.mode == "stubborn" {
		time.Sleep(time.Hour) // an empty select would be a deadlock, and end it
	}
}

// fork leaves a daemon in a session of its own, which holds the output open.
func (s *server) fork() {
	p, err := os.StartProcess("/bin/sh", []string{"sh", "-c", "sleep 1000 & sleep 1000"}, &os.ProcAttr{
		Env: os.Environ(), Files: []*os.File{nil, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err == nil {
		p.Release()
	}
}

func (s *server) take(m message) {
	switch m.Method {
	case "initialize":
		s.initialize(m)
	case "tools/list":
		s.list(m)
	case "tools/call":
		s.call(m)
	case "notifications/cancelled":
		if s.late != nil {
			s.reply(s.late, text("too late"))
			s.late = nil
		}
	case "", "notifications/initialized":
	default:
		s.write(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32601, "message": "no such method"}})
	}
}

func (s *server) initialize(m message) {
	version := "2025-06-18"
	switch s.mode {
	case "mute":
		return
	case "version":
		version = "1999-01-01"
	}
	s.reply(m.ID, map[string]any{
		"protocolVersion": version, "serverInfo": map[string]any{"name": "mcptest", "version": "1"},
		"capabilities": map[string]any{"tools": map[string]any{"listChanged": true}},
	})
}

func (s *server) reply(id json.RawMessage, result any) {
	s.write(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
}

func (s *server) write(m any) {
	data, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	switch s.mode {
	case "logs":
		fmt.Fprintln(s.out, "INFO starting…\n{\"level\":\"info\",\"msg\":\"request\"}\n[not json\n\"text\"\n42")
	case "batch":
		data = append(append([]byte{'['}, data...), ']')
	}
	s.out.Write(append(data, '\n'))
}

func text(s string) map[string]any {
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": s}}}
}

// effect is what a call does to the world.
func (s *server) effect() {
	f, err := os.OpenFile("effect", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintln(f, s.mode)
		f.Close()
	}
}

// ask sends a request to the client and gives its answer.
func (s *server) ask(method string) string {
	s.write(map[string]any{"jsonrpc": "2.0", "id": "ask", "method": method, "params": map[string]any{}})
	for {
		line, err := s.in.ReadBytes('\n')
		var m message
		if err != nil {
			return "the end"
		}
		if json.Unmarshal(line, &m) == nil && m.Method == "" && string(m.ID) == `"ask"` {
			return fmt.Sprintf("%s → result %s, error %s\n", method, m.Result, m.Error)
		}
	}
}

// flood writes n bytes that are no message and have no line break.
func (s *server) flood(n int) {
	chunk := []byte(strings.Repeat("x", 1<<16))
	for range n / len(chunk) {
		if _, err := s.out.Write(chunk); err != nil {
			return
		}
	}
}

func pause() { time.Sleep(time.Hour) }
