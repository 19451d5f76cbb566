// Package wire is what the remote notebooks' client and server say to each
// other: JSON over HTTP, with a bearer token.
//
//	GET  /resolve                                the address to use, {"endpoint": …}; 404: this one
//	GET  /v1/info                                Info
//	POST /v1/notebooks/NAME/ACTION               begins a job and streams its events; ACTION is
//	                                             start, execute, install, reset, close or remove
//	GET  /v1/notebooks/NAME/cells/ID             streams the events of a job that was begun
//	POST /v1/notebooks/NAME/cancel               interrupts jobs
//	POST /v1/notebooks/NAME/cells/ID/answers/N   answers an ask event
//
// A stream is one of Server-Sent Events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html): progress and
// ask events, and last one cell event, the [notebook.Outcome] of a cell that was
// run, or a done event, for any other end. An event's id says where the stream goes on after it: the
// header Last-Event-ID asks for the rest.
//
// The client chooses the ID of a job. One that the server knows is not begun
// again, so whoever lost the connection asks again. A server remembers them as
// long as it runs: each answer bears the name of its run in the header
// Rouse-Instance, and a request that bears another one is refused (409).
package wire

import (
	"rouse/tools/notebook"
)

// Protocol is the version of what is said here.
const Protocol = 1

// Instance is the header that names a run of the server.
const Instance = "Rouse-Instance"

// Actions are the jobs that a client can ask for.
const (
	Start   = "start"
	Execute = "execute"
	Install = "install"
	Reset   = "reset"
	Close   = "close"
	Remove  = "remove"
)

// Events of a stream.
const (
	EventProgress = "progress"
	EventAsk      = "ask"
	EventCell     = "cell"
	EventDone     = "done"
)

// MaxBody is how many bytes the body of a request may have.
const MaxBody = 8 << 20

// MaxEvent is how many bytes the data of an event may have.
const MaxEvent = 128 << 20

// Info is what a server says of itself.
type Info struct {
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
	Tenant   string `json:"tenant"` // whom the token belongs to
}

// Resolved is the address to use instead.
type Resolved struct {
	Endpoint string `json:"endpoint"`
}

// Error is the body of an answer that is no success.
type Error struct {
	Error string `json:"error"`
}

// Job is what a client asks for. Beside ID each action has fields of its own.
type Job struct {
	// ID is chosen by the client, 16 to 64 letters, digits, - and _, never twice.
	ID string `json:"id"`
	// Seen is the job before, whose events are needed no more.
	Seen string `json:"seen,omitempty"`

	// Env, of start, is given to the process, as NAME=value; of those named in
	// Secret the values are never saved.
	Env    []string `json:"env,omitempty"`
	Secret []string `json:"secret,omitempty"`

	// Of execute. Estimate is in seconds.
	Number   int     `json:"number,omitempty"`
	Code     string  `json:"code,omitempty"`
	Estimate float64 `json:"estimate,omitempty"`

	// Of install.
	Packages []string `json:"packages,omitempty"`

	// Save, of close, saves the variables.
	Save bool `json:"save,omitempty"`
}

// Cancel says which job is interrupted; with no ID it is all of the notebook.
type Cancel struct {
	ID string `json:"id,omitempty"`
}

// Progress is a piece of what comes out of a cell or an installer.
type Progress struct {
	Stream notebook.Stream `json:"stream"`
	Data   []byte          `json:"data"`
}

// Ask is what a cell asks of the client's model.
type Ask struct {
	Number int `json:"number"`
	notebook.Question
}

// Answer answers an Ask: with a completion of its prompt, or a text about its query.
type Answer struct {
	Error      string               `json:"error,omitempty"`
	Completion *notebook.Completion `json:"completion,omitempty"`
	Text       string               `json:"text,omitempty"`
}

// Done ends a job that is no cell; a cell that was not run, too. Error is empty
// if it went well.
type Done struct {
	Error string `json:"error,omitempty"`
}
