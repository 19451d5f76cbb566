package local

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"rouse/internal/frame"
	"rouse/internal/proc"
	"rouse/internal/redact"
)

const (
	// maxMessage is the longest message from a process, a picture as a rule.
	maxMessage = 16 << 20
	// closeGrace is how long a process may take to end when it is no longer
	// needed.
	closeGrace = 300 * time.Millisecond
	// deathGrace is how long one that has closed its channel may take to be seen dead.
	deathGrace = 3 * time.Second
	// writeTimeout is how long a process may take to read what it is told.
	writeTimeout = 10 * time.Second
)

// message is what a process reports. See python/wire.py and python/main.py.
type message struct {
	Nonce string `json:"nonce"`
	Is    string `json:"is"` // ready, log, picture, done or saved
	Error string `json:"error"`
	// of log, done, picture
	Text  string `json:"text"`
	Value string `json:"value"`
	HTML  string `json:"html"`
	Type  string `json:"type"`
	Data  []byte `json:"data"` // base64
	// of ready and saved
	Python     string      `json:"python"`
	Restored   []string    `json:"restored"`
	Imported   []string    `json:"imported"` // again
	Dropped    [][2]string `json:"dropped"`  // name, why
	Unreadable string      `json:"unreadable"`
	Time       float64     `json:"time"` // seconds since 1970
}

// kernel is a process that runs cells, and our ends of its channels.
type kernel struct {
	proc     *proc.Process
	diag     *redact.Tail  // what it wrote before it was ready
	dead     chan struct{} // closed when it and its descendants are gone
	exit     proc.Exit     // set before dead is closed
	control  *os.File      // requests to it
	reports  *os.File
	bridge   bridge
	messages chan message // what it reports; closed at the end
	stop     chan struct{}
	closing  sync.Once
	streams  [2]*stream
	readers  sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond // current, or stopped
	current *run       // the cell that runs; nil if none does
	stopped bool
}

// start starts a process and its readers. It is not ready yet.
func (r *Runtime) startKernel(ctx context.Context) (*kernel, error) {
	r.cells, r.installs = r.c.boxes(r.dir) // the environment may be another one
	k := &kernel{diag: r.c.Redact.NewTail(4000), dead: make(chan struct{}), messages: make(chan message), stop: make(chan struct{})}
	k.changed = sync.NewCond(&k.mu)
	var pipes pipes
	ours := [6]*os.File{}
	var theirs []*os.File
	for i := range ours { // 3 and 7 are read by the process, the others written
		read, write := pipes.open()
		if i == 0 || i == 4 {
			ours[i], theirs = write, append(theirs, read)
		} else {
			ours[i], theirs = read, append(theirs, write)
		}
	}
	if pipes.err != nil {
		pipes.close()
		return nil, fmt.Errorf("start notebook: %w", pipes.err)
	}
	p, err := r.c.Runner.Start(context.WithoutCancel(ctx), proc.Command{
		Argv:       []string{r.interpreter(), "-u", "-X", "utf8", "-c", bootCode, r.path(bootName)},
		Dir:        r.c.Workspace,
		Env:        append(r.environ(), r.c.Env...),
		Stdout:     k.diag,
		Stderr:     k.diag,
		ExtraFiles: theirs,
		Grace:      killGrace,
		Box:        r.cells,
	})
	if err != nil {
		pipes.close()
		return nil, fmt.Errorf("start notebook: %w", err)
	}
	for _, f := range theirs {
		f.Close()
	}
	k.proc, k.control, k.reports = p, ours[0], ours[1]
	k.streams = [2]*stream{newStream(ours[2]), newStream(ours[3])}
	k.bridge = bridge{to: ours[4], from: ours[5], llm: r.c.LLM, install: r.install}
	k.read()
	return k, nil
}

// pipes opens pipes until one cannot be opened.
type pipes struct {
	files []*os.File
	err   error
}

func (p *pipes) open() (read, write *os.File) {
	if p.err == nil {
		if read, write, p.err = os.Pipe(); p.err == nil {
			p.files = append(p.files, read, write)
		}
	}
	return read, write
}

func (p *pipes) close() {
	for _, f := range p.files {
		f.Close()
	}
}

// read starts all that listens to the process.
func (k *kernel) read() {
	k.readers.Go(k.listen)
	k.readers.Go(func() { k.bridge.serve(k) })
	for i, s := range k.streams {
		k.readers.Go(func() { k.pump(s, streamNames[i]) })
	}
	go func() {
		k.exit = k.proc.Wait()
		close(k.dead)
		k.reports.SetReadDeadline(time.Now().Add(closeGrace)) // somebody else may hold the other end
	}()
}

// listen passes on what the process reports. A line that is no message is none.
func (k *kernel) listen() {
	defer close(k.messages)
	io.Copy(&frame.Lines{Max: maxMessage, Line: func(line []byte) {
		var m message
		if json.Unmarshal(line, &m) != nil || m.Is == "" {
			return
		}
		select {
		case k.messages <- m:
		case <-k.stop: // and then there is no more to read
		}
	}}, k.reports)
}

// send asks the process for something, under a new nonce, which it returns.
func (k *kernel) send(request map[string]any) (string, error) {
	nonce := rand.Text()
	request["nonce"] = nonce
	b, err := json.Marshal(request)
	if err != nil {
		return "", err
	}
	k.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err = k.control.Write(append(b, '\n'))
	return nonce, err
}

// await waits for the message that answers a request.
func (k *kernel) await(ctx context.Context, nonce, is string) (message, error) {
	for {
		select {
		case m, ok := <-k.messages:
			if !ok {
				return message{}, errors.New(k.diagnosis())
			}
			if m.Is == is && m.Nonce == nonce {
				return m, nil
			}
		case <-ctx.Done():
			return message{}, ctx.Err()
		}
	}
}

// diagnosis says why the channel has ended. A process that has only closed it
// still lives.
func (k *kernel) diagnosis() string {
	select {
	case <-k.dead:
		said := strings.TrimSpace(k.diag.String())
		if said != "" {
			said = ": " + said
		}
		return "the interpreter ended: " + k.exit.String() + said
	case <-time.After(deathGrace):
		return "the connection to the interpreter was closed from inside"
	}
}

// attach makes the cell the one that output belongs to; nil is none.
func (k *kernel) attach(r *run) {
	k.mu.Lock()
	k.current = r
	k.mu.Unlock()
	k.changed.Broadcast()
}

// kill ends the process with its descendants and waits until they are gone.
func (k *kernel) kill() {
	k.proc.End()
	<-k.dead
}

// end ends the process, gently if it listens, and all that listens to it.
func (k *kernel) end() {
	k.control.Close()
	select {
	case <-k.dead:
	case <-time.After(closeGrace):
		k.kill()
	}
	k.closing.Do(func() {
		close(k.stop)
		k.mu.Lock()
		k.stopped, k.current = true, nil
		k.mu.Unlock()
		k.changed.Broadcast()
		for _, f := range []*os.File{k.reports, k.bridge.to, k.bridge.from, k.streams[0].from, k.streams[1].from} {
			f.Close()
		}
		k.readers.Wait()
	})
}
