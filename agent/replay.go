package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"rouse/agent/budget"
	"rouse/agent/made"
	"rouse/agent/model"
	"rouse/dispatcher"
	"rouse/home"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/scratchpad/observation"
	"rouse/scratchpad/origin"
	"rouse/tools"
)

// Asked is a request that a cycle sent to a model, rebuilt.
type Asked struct {
	Request model.Request
	Said    journal.Request // what the journal says of it
	Model   string          // its name
	// Pictures says where the request's pictures lie, by their SHA-256; their data
	// are not in the request.
	Pictures map[string]journal.Picture
	// Reply is what the model answered, where it did.
	Reply *model.Reply

	maxOutput  int
	form, told string
	style      string
	rules      string
	talk       talk
}

// Under is the request as it would be with other rules.
func (r Asked) Under(rules string) Asked {
	system := r.Request.Messages[0]
	rest, ok := strings.CutPrefix(system.Content, strings.TrimRight(r.rules, "\n"))
	if ok {
		system.Content = strings.TrimRight(rules, "\n") + rest
		r.Request.Messages = append([]model.Message{system}, r.Request.Messages[1:]...)
	}
	return r
}

// Sent is the request with all that was said in it.
func (r Asked) Sent() model.Request { return budget.Warned(r.Request, r.told) }

// Actions are what a reply to the request asks for, or why that is nothing.
func (r Asked) Actions(reply model.Reply) ([]dispatcher.Action, error) { return r.talk.Actions(reply) }

// Body is the request as it was sent to the server.
func (r Asked) Body() ([]byte, error) {
	req := budget.Warned(r.Request, r.told)
	return model.Body(model.Options{Name: r.Model, MaxOutput: r.maxOutput, Style: r.style}, req, r.form)
}

// Fill puts the data of the pictures into the request. The error names those that
// are gone: what a scratchpad holds expires long before a journal does.
func (r *Asked) Fill(h home.Home) error {
	if len(r.Pictures) == 0 || !observation.Exists(h.Memory()) {
		return r.fill(func(string) ([]byte, error) { return nil, errors.New("there is no scratchpad") })
	}
	store, err := observation.Open(h.Memory(), observation.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	return r.fill(func(id string) ([]byte, error) {
		c, err := store.Get(id)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		return io.ReadAll(c.Reader())
	})
}

func (r *Asked) fill(read func(id string) ([]byte, error)) (missing error) {
	for _, m := range r.Request.Messages {
		for i := range m.Images {
			picture := r.Pictures[m.Images[i].Sum]
			data, err := read(picture.ID)
			if err == nil && made.Sum(data) != picture.Sum {
				err = errors.New("it is another one now")
			}
			if err != nil {
				missing = errors.Join(missing, fmt.Errorf("picture sha256 %s (%s, scratchpad_id %s) is gone: %w", m.Images[i].Sum, m.Images[i].Type, picture.ID, err))
			}
			m.Images[i].Data = data
		}
	}
	return missing
}

// Rebuild gives the last request that a cycle sent at an iteration: the journal is
// told to the same conversation again, with the times and the names that it has.
// The error says what is missing where that cannot be done, and a request that is
// not the one that was sent is never given.
func Rebuild(h home.Home, cycle string, iteration int) (Asked, error) {
	return rebuild(&teller{home: h, iteration: iteration}, cycle)
}

func rebuild(r *teller, cycle string) (Asked, error) {
	r.pictures = map[string]journal.Picture{}
	if err := r.read(cycle); err != nil {
		return Asked{}, fmt.Errorf("rebuild request %d of cycle %s: %w", r.iteration, cycle, err)
	}
	return r.asked, nil
}

// Decisions are the requests of a cycle that were answered, in the words of today: what
// the model knew is as it was.
func Decisions(h home.Home, cycle string) (list []Asked, err error) {
	last, answered := 0, []int{}
	for e, err := range journal.Read(h.Journal(cycle)) {
		if err != nil {
			return nil, err
		}
		switch d := e.Data.(type) {
		case *journal.Request:
			if d.For == "" {
				last = d.Iteration
			}
		case *journal.Reply:
			if d.For == "" {
				answered = append(answered, last)
			}
		}
	}
	for _, i := range answered {
		one, err := rebuild(&teller{home: h, iteration: i, reworded: true}, cycle)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// teller tells a journal to a conversation again.
type teller struct {
	home      home.Home
	iteration int
	reworded  bool // the request may be in other words
	events    []journal.Event

	dialogue *dialogue
	asking   Asking
	terms    journal.Terms
	offered  []tools.Tool // with those that are hidden
	parked   []*journal.Parked
	actions  []dispatcher.Action // of the last reply, without a result yet
	waiting  bool                // for a reply
	from     origin.Set
	approved *journal.Intent // what was carried out before the first request, without a result yet
	early    []func() error  // what came of it

	asked    Asked
	found    bool
	pictures map[string]journal.Picture
}

// load reads the journal, and the memory as the cycle found it.
func (r *teller) load(id string) (*scratchpad.State, error) {
	for e, err := range journal.Read(r.home.Journal(id)) {
		if err != nil {
			return nil, err
		}
		if p, ok := e.Data.(*journal.Parked); ok {
			r.parked = append(r.parked, p)
		}
		r.events = append(r.events, e)
	}
	base, err := r.home.LoadFile(r.home.Before(id))
	if err != nil {
		return nil, fmt.Errorf("the memory as the cycle found it: %w", err)
	}
	r.dialogue = &dialogue{keeper: &Keeper{Home: r.home}, asking: &r.asking, state: base.Clone()}
	return base, nil
}

func (r *teller) read(id string) error {
	if _, err := r.load(id); err != nil {
		return err
	}
	for _, e := range r.events {
		if err := r.tell(e); err != nil {
			return err
		}
		if _, reply := e.Data.(*journal.Reply); reply && r.found && !r.waiting {
			break // nothing more comes of the wanted request
		}
	}
	if !r.found {
		return errors.New("there is no such request; `rouse log` shows which there are")
	}
	return nil
}

func (r *teller) tell(e journal.Event) error {
	if err := r.dialogue.state.Apply(journal.Changes(e)...); err != nil {
		return err
	}
	switch d := e.Data.(type) {
	case *journal.Wake:
		return r.wake(d)
	case *journal.Made:
		return r.made(d)
	case *journal.Origin:
		r.from = r.from.With(d.From...)
		if r.dialogue.dispatcher != nil {
			r.dialogue.dispatcher.Origins = r.from
		}
	case *journal.Warning:
		if d.Shown {
			r.dialogue.remarks = append(r.dialogue.remarks, d.Text)
		}
	case *journal.Intent:
		if d.Approval != "" {
			r.approved = d
		}
	case *journal.Approval:
		r.dialogue.learned(*d)
	case *journal.Protocol:
		r.dialogue.note(func(m *known) { m.Protocol = d.Name })
		r.dialogue.speak(d.Name)
		r.waiting = false
	case *journal.Model:
		r.waiting = false
	case *journal.Request:
		if d.For == "" {
			return r.request(d)
		}
	case *journal.Reply:
		if d.For == "" && r.waiting {
			return r.reply(d)
		}
	case *journal.Result:
		return r.result(d, e.Line)
	}
	return nil
}

func (r *teller) wake(w *journal.Wake) error {
	sum, ok := w.Made[r.home.Rel(r.home.Rules())]
	if !ok {
		return errors.New("the journal does not say which rules held: it is of an older rouse, or there were none")
	}
	text, err := r.dialogue.keeper.copies().Read(sum)
	r.dialogue.rules = string(text)
	if err != nil {
		return fmt.Errorf("rules: %w", err)
	}
	return nil
}

// made takes in the tools, and the first time the terms.
func (r *teller) made(m *journal.Made) error {
	if sum, ok := m.Made[madeGuide]; ok {
		text, err := r.dialogue.keeper.copies().Read(sum)
		if err != nil {
			return fmt.Errorf("guide: %w", err)
		}
		r.dialogue.guide = string(text)
	}
	if sum, ok := m.Made[madeTools]; ok {
		text, err := r.dialogue.keeper.copies().Read(sum)
		if err != nil {
			return fmt.Errorf("tools: %w", err)
		}
		if r.offered, err = parseTools(text); err != nil {
			return fmt.Errorf("tools: %w", err)
		}
	}
	set, err := tools.NewSet(ownTools(r.offered)...)
	if err != nil {
		return fmt.Errorf("tools: %w", err)
	}
	if r.dialogue.dispatcher != nil {
		r.dialogue.dispatcher.Tools = set
	}
	if m.Terms != nil {
		return r.begin(*m.Terms, set)
	}
	return nil
}

// begin begins the conversation as the cycle did.
func (r *teller) begin(t journal.Terms, set *tools.Set) error {
	a, c := &r.asking, r.dialogue
	r.terms = t
	a.MaxIterations, a.Timeout, a.MaxTokens, a.KeepResults = t.Iterations, time.Duration(t.Timeout)*time.Millisecond, t.MaxTokens, t.Keep
	a.Protocol, a.Notes, c.kept = t.Protocol, tools.NoteMode(t.Notes), t.Kept
	c.models = map[string]known{"": {MaxTokens: t.Learned, Form: t.Form}}
	c.archive = t.Archive
	c.dispatcher = &dispatcher.Dispatcher{Tools: set, State: c.state, Notes: a.Notes, Parked: r.park, Consent: dispatcher.Consent{Origins: r.from}}
	r.asked.Model, r.asked.maxOutput, r.asked.style = t.Model, t.MaxOutput, t.Style
	for _, tell := range r.early {
		if err := tell(); err != nil {
			return err
		}
	}
	c.speak(t.Protocol)
	return nil
}

// park says where the text was put that left the conversation next.
func (r *teller) park() (string, error) {
	if len(r.parked) == 0 {
		return "", errors.New("the journal does not say where")
	}
	next := r.parked[0]
	r.parked = r.parked[1:]
	if next.Error != "" {
		return "", errors.New(next.Error)
	}
	return next.ID, nil
}

// request composes the request that the journal speaks of.
func (r *teller) request(said *journal.Request) error {
	switch {
	case said.Sum == "":
		return errors.New("the journal does not say what its requests depend on: it is of an older rouse")
	case r.dialogue.talk == nil:
		return errors.New("the journal does not say how the cycle began: a line is missing")
	case r.waiting: // the one before found no answer: it was too long
		r.dialogue.talk.Shrink()
		r.dialogue.note(r.dialogue.tooLong)
	}
	now := *said
	r.dialogue.told = said.Hidden
	req, _, err := r.dialogue.compose(&now, slices.DeleteFunc(slices.Clone(r.offered), func(t tools.Tool) bool { return t.Hidden }))
	if err != nil {
		return err
	}
	r.waiting = true
	if said.Iteration != r.iteration {
		return nil
	}
	if !r.reworded && req.Hash() != said.Sum {
		return errors.New("what comes out is not what was sent: the journal, _before or a copy was changed, another version of rouse wrote them, or a secret was hidden that stood elsewhere than in a value")
	}
	r.found, r.asked.Request, r.asked.Said, r.asked.Pictures = true, req, *said, r.shown(req)
	r.asked.rules, r.asked.talk = r.dialogue.rules, r.dialogue.talk
	return nil
}

// shown says where the pictures of a request lie.
func (r *teller) shown(req model.Request) map[string]journal.Picture {
	list := map[string]journal.Picture{}
	for _, m := range req.Messages {
		for _, i := range m.Images {
			list[i.Sum] = r.pictures[i.Sum]
		}
	}
	return list
}

func (r *teller) reply(d *journal.Reply) error {
	r.waiting = false
	r.asked.form = d.Form
	reply, err := recordedReply(d)
	if err != nil {
		return err
	}
	if r.found {
		r.asked.told, r.asked.Reply = d.Told, &reply
		return nil
	}
	// What is wrong with a reply is part of the next request.
	r.actions, _ = r.dialogue.talk.Actions(reply)
	return nil
}

// recordedReply is a reply as the model gave it.
func recordedReply(d *journal.Reply) (model.Reply, error) {
	reply := model.Reply{Text: d.Text, Refusal: d.Refusal, Usage: model.Usage(d.Usage), Finish: d.Finish, Form: d.Form, Kept: d.Kept}
	if len(d.Calls) > 0 {
		if err := json.Unmarshal(d.Calls, &reply.Calls); err != nil {
			return reply, fmt.Errorf("the calls of a reply: %w", err)
		}
	}
	for i := range reply.Calls {
		reply.Calls[i].Args = dispatcher.Plain(reply.Calls[i].Args)
		if i < len(d.Args) {
			reply.Calls[i].Args = json.RawMessage(d.Args[i])
		}
	}
	return reply, nil
}

func (r *teller) result(d *journal.Result, line json.RawMessage) error {
	if i := r.approved; i != nil && i.Step == d.Step {
		r.approved = nil
		r.early = append(r.early, func() error {
			o, err := r.dialogue.dispatcher.Told(dispatcher.Action{Tool: i.Tool, Args: dispatcher.Plain(i.Args)}, d, line)
			o.Images = nil
			r.dialogue.carried = append(r.dialogue.carried, o)
			return err
		})
		return nil
	}
	if len(r.actions) == 0 {
		return errors.New("a result without a call: a line of the journal is missing")
	}
	o, err := r.dialogue.dispatcher.Told(r.actions[0], d, line)
	if err != nil {
		return fmt.Errorf("the result of step %d: %w", d.Step, err)
	}
	r.actions = r.actions[1:]
	for _, p := range d.Images {
		r.pictures[p.Sum] = p
	}
	r.dialogue.talk.Add(o)
	return nil
}

// ownTools are those of the home: the agent's own actions are no tools of a set.
func ownTools(offered []tools.Tool) (list []tools.Tool) {
	for _, t := range offered {
		if t.Name != "update_scratchpad" && t.Name != "done" {
			list = append(list, t)
		}
	}
	return list
}

// parseTools reads what toolsText wrote.
func parseTools(text []byte) (list []tools.Tool, err error) {
	for line := range strings.Lines(string(text)) {
		var t toolLine
		if err := json.Unmarshal([]byte(line), &t); err != nil {
			return nil, err
		}
		list = append(list, tools.Tool{Name: t.Name, Description: t.Description, Raw: json.RawMessage(t.Parameters), ReadOnly: t.ReadOnly, Hidden: t.Hidden,
			Noted: t.Noted || tools.WasNoted(json.RawMessage(t.Parameters))})
	}
	return list, nil
}
