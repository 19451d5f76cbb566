package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"rouse/agent/config"
	"rouse/agent/conversation"
	"rouse/agent/model"
	"rouse/home"
	"rouse/internal/clock"
	"rouse/internal/text"
	"rouse/setup"
	"rouse/tools"
)

// Probe asks the configured model for one call of the tool echo in each protocol,
// streaming and not, and says which works. That costs four short requests, within
// the limits of the home.
func (d Doctor) Probe(h home.Home) []setup.Check {
	s, err := setup.Open(h, d.Process)
	if err != nil {
		return []setup.Check{{Check: "configuration", Found: err.Error(), Hint: "mend rouse.yaml"}}
	}
	checks := d.checkModels(s)
	if m := s.Config.Model; m.Provider == "offline" || !checks[0].OK {
		return checks
	}
	var works []string
	for _, way := range []way{{"tools", false}, {"tools", true}, {"json", false}, {"json", true}} {
		c, ok := d.try(s, way)
		checks = append(checks, c)
		if ok {
			works = append(works, way.protocol)
		}
	}
	return append(checks, verdict(s.Config.Model, works), d.context(s))
}

// way is how a model can be asked.
type way struct {
	protocol string
	plain    bool // without streaming
}

func (w way) String() string {
	if w.plain {
		return w.protocol
	}
	return w.protocol + ", streamed"
}

// try asks in one way. One that does not work fails nothing: another may.
func (d Doctor) try(s *setup.Setup, w way) (setup.Check, bool) {
	began := clock.Now(d.Now)
	reply, err := d.echo(s, w)
	took := clock.Now(d.Now).Sub(began)
	if err != nil {
		return setup.Check{Check: w.protocol, OK: true, Found: fmt.Sprintf("%s: does not work: %s", w, text.Line(err.Error(), 300))}, false
	}
	found := fmt.Sprintf("%s: works, in %s", w, took.Round(10*time.Millisecond))
	if u := reply.Usage; u.Output > 0 && took > 0 {
		found += fmt.Sprintf(", %d tokens asked, %d answered, %.0f a second", u.Input, u.Output, float64(u.Output)/took.Seconds())
	} else {
		found += "; the server does not count tokens"
	}
	if reply.API != "" {
		found += ", by model.api: " + reply.API
	}
	return setup.Check{Check: w.protocol, OK: true, Found: found, Hint: reply.Warning}, true
}

// maxProbe bounds one question.
const maxProbe = 2 * time.Minute

// echo asks as a cycle does, and looks whether the answer is the call.
func (d Doctor) echo(s *setup.Setup, w way) (model.Reply, error) {
	const message = "rouse doctor"
	m, err := s.Asker(w.plain)
	if err != nil {
		return model.Reply{}, err
	}
	opt := conversation.Options{Rules: "You are tested: do what current_task says, in one call.", Redact: s.Redactor()}
	native, plain := &conversation.Native{Options: opt}, &conversation.JSON{Options: opt}
	request, understand := native.Request, native.Actions
	if w.protocol == "json" {
		request, understand = plain.Request, plain.Actions
	}
	task := func() (conversation.Memory, error) {
		return conversation.Memory{YAML: []byte(`current_task: call the tool echo with the message "` + message + `"`)}, nil
	}
	req, _, err := request(conversation.Turn{State: task, Tools: []tools.Tool{tools.Echo()}, Now: clock.Now(d.Now), Iteration: 1, Of: 1})
	if err != nil {
		return model.Reply{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxProbe)
	defer cancel()
	req.Hurry = true
	reply, err := m.Reply(ctx, req)
	if err != nil {
		return reply, err
	}
	actions, err := understand(reply)
	var args struct{ Message string }
	switch {
	case err != nil:
		return reply, err
	case actions[0].Tool != "echo" || json.Unmarshal(actions[0].Args, &args) != nil || args.Message != message:
		return reply, fmt.Errorf("the model answered otherwise: %s %s", actions[0].Tool, actions[0].Args)
	}
	return reply, nil
}

// verdict says whether cycles can ask as the configuration says.
func verdict(m config.Model, works []string) setup.Check {
	for _, p := range works {
		if m.Protocol == "auto" || m.Protocol == p {
			return setup.Check{Check: "protocol", OK: true, Found: m.Protocol + ": cycles ask by " + p}
		}
	}
	c := setup.Check{Check: "protocol", Found: m.Protocol + ": no way that it allows works", Hint: "take another model, or a newer server"}
	if len(works) > 0 {
		c.Hint = "set model.protocol: " + works[0] + " in rouse.yaml"
	}
	return c
}

// context says how long a request the model can read, where its server lists that.
func (d Doctor) context(s *setup.Setup) setup.Check {
	most := int(s.Config.Conversation.MaxTokens)
	n, err := d.window(s.Config.Model)
	c := setup.Check{Check: "context", OK: true, Found: fmt.Sprintf("%d tokens; requests have at most %d", n, most)}
	switch {
	case err != nil:
		c.Found = fmt.Sprintf("the server does not say; requests have at most %d tokens", most)
		c.Hint = "keep conversation.max_tokens below what the model can read"
	case n < most:
		c.OK, c.Hint = false, fmt.Sprintf("set conversation.max_tokens below %d in rouse.yaml", n)
	}
	return c
}

// window is the length of a model's context in tokens, in the words of vLLM,
// OpenRouter, LM Studio and llama.cpp, each in its list of models.
func (d Doctor) window(m config.Model) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), modelPatience)
	defer cancel()
	resp, err := get(ctx, m, d.Getenv(m.APIKeyEnv))
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var list struct {
		Data []struct {
			ID   string
			VLLM int `json:"max_model_len"`
			Open int `json:"context_length"`
			LM   int `json:"max_context_length"`
			Most int `json:"max_input_tokens"` // Anthropic's
			Meta struct {
				Llama int `json:"n_ctx_train"`
			}
		}
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 16<<20)).Decode(&list); err != nil {
		return 0, err
	}
	for _, e := range list.Data {
		if n := max(e.VLLM, e.Open, e.LM, e.Most, e.Meta.Llama); n > 0 && (e.ID == m.Name || len(list.Data) == 1) {
			return n, nil
		}
	}
	return 0, errors.New("it is not listed")
}
