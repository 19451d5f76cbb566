package page

import (
	"fmt"
	"net/http"
	"strconv"

	"rouse/agent"
	"rouse/agent/model"
)

// requestData is what the page of a request shows.
type requestData struct {
	Cycle    string
	Asked    agent.Asked
	Body     string // where its JSON is
	Messages []message
	Tools    []piece
}

// message is one that the model saw.
type message struct {
	Role, Call string
	Content    piece
	Calls      []modelCall
	Pictures   []image
}

// modelCall is a call in a message.
type modelCall struct {
	ID, Name string
	Args     []piece
}

// rebuilt is the request that the path names, as it was sent. One is rebuilt at a time: that
// takes as much memory as the journal is long.
func (v *visit) rebuilt() (agent.Asked, string, error) {
	id, err := v.cycle()
	if err != nil {
		return agent.Asked{}, "", err
	}
	n, _ := strconv.Atoi(v.PathValue("request"))
	v.rebuilding.Lock()
	defer v.rebuilding.Unlock()
	a, err := agent.Rebuild(v.home.Home, id, n)
	if err != nil {
		err = wrong{http.StatusNotFound, err}
	}
	return a, id, err
}

// showRequest shows what the model saw at an iteration.
func (v *visit) showRequest() (sheet, error) {
	a, id, err := v.rebuilt()
	if err != nil {
		return sheet{}, err
	}
	data := requestData{Cycle: id, Asked: a, Body: v.URL.Path + "/body"}
	for _, m := range a.Sent().Messages {
		data.Messages = append(data.Messages, v.message(a, m))
	}
	for _, t := range a.Request.Tools {
		data.Tools = append(data.Tools, cut(t.Name, t.Description+"\n"+indented(t.Parameters)))
	}
	return sheet{template: "request", title: fmt.Sprintf("What the model saw at iteration %d of cycle %s", a.Said.Iteration, id), data: data}, nil
}

func (v *visit) message(a agent.Asked, m model.Message) message {
	shown := message{Role: m.Role, Call: m.Call, Content: cut("", m.Content)}
	for _, c := range m.Calls {
		shown.Calls = append(shown.Calls, modelCall{c.ID, c.Name, fields(c.Args)})
	}
	for _, i := range m.Images {
		shown.Pictures = append(shown.Pictures, v.image(a.Pictures[i.Sum]))
	}
	return shown
}

// sendBody is the request as it was sent, byte for byte.
func (v *visit) sendBody() (sheet, error) {
	a, id, err := v.rebuilt()
	if err != nil {
		return sheet{}, err
	}
	if err := a.Fill(v.home.Home); err != nil {
		return sheet{}, wrong{http.StatusNotFound, err}
	}
	body, err := a.Body()
	if err != nil {
		return sheet{}, err
	}
	v.w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=request-%s-%d.json", id, a.Said.Iteration))
	return v.send("text/plain; charset=utf-8", func() error {
		_, err := v.w.Write(body)
		return err
	})
}
