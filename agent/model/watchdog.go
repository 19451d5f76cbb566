package model

import (
	"context"
	"fmt"
	"time"
)

// watchdog ends a request in which nothing happened for too long.
type watchdog struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration
}

func newWatchdog(parent context.Context) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(parent)
	return ctx, &watchdog{ctx: ctx, cancel: cancel}
}

// allow starts a new limit, in place of the last one.
func (w *watchdog) allow(what string, limit time.Duration) {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.limit = limit
	w.timer = time.AfterFunc(limit, func() {
		w.cancel(&failure{text: fmt.Sprintf("no %s for %s", what, limit), retry: true, away: true})
	})
}

// again starts the limit anew: something came.
func (w *watchdog) again() {
	if w.timer != nil {
		w.timer.Reset(w.limit)
	}
}

// explain returns why the request was ended, or err if it was not.
func (w *watchdog) explain(err error) error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	return err
}

// stop ends the request and releases its resources.
func (w *watchdog) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.cancel(nil)
}
