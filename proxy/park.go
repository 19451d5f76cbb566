package proxy

import (
	"context"
	"encoding/json"
	"io"

	"rouse/dispatcher"
	"rouse/internal/object"
	"rouse/tools"
	"rouse/tools/mcp"
)

// park puts the result of a call on the shelf if it is large, and gives what the
// client gets in its place. Pictures that a model can be shown stay, and do not
// count. What cannot be kept stays too.
func (p *Proxy) park(r request, result []byte) ([]byte, bool) {
	if len(result) <= p.Threshold {
		return result, false
	}
	o, err := object.Parse(result)
	if err != nil || o.Get("content") == nil && o.Get("structuredContent") == nil {
		return result, false
	}
	pictures, rest := shown(o.Get("content"))
	size := len(o.Get("structuredContent"))
	for _, c := range rest {
		size += len(c)
	}
	if size <= p.Threshold {
		return result, false
	}
	view, ok := p.shelve(r, o.With("content", join(rest)))
	if !ok {
		return result, false
	}
	return replaced(o, view, pictures), true
}

// replaced is a result with the view in the place of its content.
func replaced(o *object.Object, view []byte, pictures []json.RawMessage) []byte {
	text, _ := json.Marshal(map[string]string{"type": "text", "text": string(view)}) // two texts
	result := o.With("content", join(append([]json.RawMessage{text}, pictures...)))
	if o.Get("structuredContent") == nil {
		return result
	}
	if o, err := object.Parse(result); err == nil {
		result = o.With("structuredContent", view)
	}
	return result
}

// Pictures that go through: of the kinds that models take, small enough, and not
// too many. In base64 a third is added.
const (
	maxPicture  = 4 << 20 / 3
	maxPictures = 4
)

// shown parts the contents of a result into pictures that a model can be shown,
// and the rest.
func shown(content json.RawMessage) (pictures, rest []json.RawMessage) {
	var list []json.RawMessage
	if json.Unmarshal(content, &list) != nil {
		return nil, nil
	}
	for _, c := range list {
		var block struct{ Type, MIMEType string }
		small := len(c) <= maxPicture && len(pictures) < maxPictures
		if small && json.Unmarshal(c, &block) == nil && block.Type == "image" && dispatcher.IsPicture(block.MIMEType) {
			pictures = append(pictures, c)
		} else {
			rest = append(rest, c)
		}
	}
	return pictures, rest
}

// shelve puts a result on the shelf and gives the synthetic view of it.
func (p *Proxy) shelve(r request, result json.RawMessage) (view []byte, ok bool) {
	p.parking.Lock()
	defer p.parking.Unlock()
	obs := dispatcher.Observation{Step: r.step, Tool: p.Redact.String(r.tool)}
	p.shelf.Observe(context.Background(), &obs, func(out io.Writer) tools.Result {
		res, err := mcp.Unwrap(out, result, p.Redact)
		if err != nil { // of a kind that we do not know: as it is
			_, err = out.Write(result)
			res = tools.Result{OK: err == nil}
		}
		return res
	})
	if !kept(obs) {
		p.unkept(obs)
		return nil, false
	}
	if obs.Note == "" {
		obs.Note = "Large parts saved in the scratchpad: see metadata. To read them, use scratchpad_read."
	}
	p.parked.Add(1)
	view, err := json.Marshal(obs)
	return view, err == nil
}

// kept says whether all that is not shown of an observation is on the shelf.
func kept(o dispatcher.Observation) bool {
	media, _ := o.Metadata["media"].([]any)
	for _, m := range media {
		if entry, _ := m.(map[string]any); entry["scratchpad_id"] == nil {
			return false
		}
	}
	return o.ScratchpadID != "" || len(media) > 0
}

// unkept tells the operator, once, that large results pass as they are.
func (p *Proxy) unkept(o dispatcher.Observation) {
	if o.Note != "" {
		p.warn.Do(func() { p.say("large results pass as they are: " + o.Note) })
	}
}

// read answers a call of scratchpad_read: its content and, apart from that, what
// part of what it is.
func (p *Proxy) read(ctx context.Context, args json.RawMessage) []byte {
	t := p.shelf.Reader()
	args, _ = tools.TakeNote(args)
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	res := tools.Result{}
	if err := t.Check(args); err != nil {
		res = tools.Fail("arguments: %v", err)
	} else {
		res = t.Run(ctx, tools.Call{Args: args, Output: io.Discard})
	}
	return answer(res)
}

func answer(res tools.Result) []byte {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	var content []block
	if text, ok := res.Content.(string); ok {
		content = append(content, block{"text", text})
	}
	if !res.OK {
		content = append(content, block{"text", res.Error})
	} else if meta, err := json.Marshal(res.Metadata); err == nil {
		content = append(content, block{"text", string(meta)})
	}
	text, _ := json.Marshal(map[string]any{"content": content, "isError": !res.OK}) // texts only
	return text
}
