package observation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/itchyny/gojq"

	"rouse/internal/text"
)

// bounds are those of a JSON query.
type bounds struct {
	value  int // bytes of one value; a content of many is queried value by value
	time   time.Duration
	memory uint64 // on top of what was in use before
}

// usual bounds: the memory is what a value of that size can take as a tree.
func usual() bounds { return bounds{value: 64 << 20, time: 10 * time.Second, memory: 1 << 30} }

// Results is the answer to a JSON query.
type Results struct {
	Data  []byte // the results, each as compact JSON and a newline
	Count int    // of the results in Data
	Cut   bool   // there are more results, or the last does not fit
}

// JSON runs a query in jq's syntax on each of the JSON values of the content, and
// gives at most limit bytes of results. It has no access to the environment,
// files or other input.
func (c *Content) JSON(ctx context.Context, query string, limit int) (Results, error) {
	r, err := c.query(ctx, query, limit, usual())
	if err != nil {
		return r, fmt.Errorf("query observation %s: %w", c.ID, err)
	}
	return r, nil
}

func (c *Content) query(ctx context.Context, query string, limit int, most bounds) (Results, error) {
	code, err := compileJQ(query)
	if err != nil {
		return Results{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, most.time, fmt.Errorf("it took more than %v", most.time))
	defer cancel()
	ctx, stop := watchMemory(ctx, most.memory)
	defer stop()
	in := &valueReader{r: c.Reader(), most: most.value}
	dec := json.NewDecoder(in)
	dec.UseNumber()
	var out Results
	for ctx.Err() == nil && !out.Cut {
		var v any
		in.left = most.value
		if err := dec.Decode(&v); err == io.EOF {
			return out, nil
		} else if _, ok := errors.AsType[*json.SyntaxError](err); ok || err == io.ErrUnexpectedEOF {
			return out, fmt.Errorf("the content is no JSON after byte %d: %w; use grep or lines", dec.InputOffset(), err)
		} else if err != nil {
			return out, err
		}
		if err := out.run(ctx, code, v, limit); err != nil {
			return out, err
		}
	}
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	return out, nil
}

func compileJQ(query string) (*gojq.Code, error) {
	if len(query) > maxPattern {
		return nil, queryError("it has %d bytes, %d are allowed", len(query), maxPattern)
	}
	q, err := gojq.Parse(query)
	if err != nil {
		return nil, queryError("not in jq's syntax: %v", err)
	}
	code, err := gojq.Compile(q)
	if err != nil {
		return nil, queryError("no query: %v", err)
	}
	return code, nil
}

// run adds the results of one value.
func (r *Results) run(ctx context.Context, code *gojq.Code, v any, limit int) error {
	iter := code.RunWithContext(ctx, v)
	for {
		x, ok := iter.Next()
		if !ok {
			return nil
		}
		if err, ok := x.(error); ok {
			if h, ok := errors.AsType[*gojq.HaltError](err); ok && h.Value() == nil {
				return nil
			}
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return err
		}
		data, err := gojq.Marshal(x)
		if err != nil {
			return err
		}
		if room := limit - len(r.Data); len(data)+1 > room {
			r.Cut = true
			if r.Count == 0 && room > 0 {
				data = data[:min(len(data), room)]
				r.Data = append(r.Data, data[:len(data)-text.Incomplete(data)]...)
			}
			return nil
		}
		r.Data = append(append(r.Data, data...), '\n')
		r.Count++
	}
}

// valueReader refuses to read more than a bound.
type valueReader struct {
	r          io.Reader
	most, left int
}

func (v *valueReader) Read(p []byte) (int, error) {
	if v.left <= 0 {
		return 0, fmt.Errorf("a JSON value of more than %d MiB; use grep or a range", v.most>>20)
	}
	n, err := v.r.Read(p[:min(len(p), v.left)])
	v.left -= n
	return n, err
}

// watchMemory ends the context when the memory in use has grown by more than a
// bound.
func watchMemory(ctx context.Context, bound uint64) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var now runtime.MemStats // package runtime/metrics would cost each start its list of names
	runtime.ReadMemStats(&now)
	most := now.HeapAlloc + bound
	done := make(chan struct{})
	tick := time.NewTicker(5 * time.Millisecond)
	go func() {
		defer close(done)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if runtime.ReadMemStats(&now); now.HeapAlloc > most {
					cancel(fmt.Errorf("it used more than %d MiB of memory", bound>>20))
				}
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}
