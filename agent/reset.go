package agent

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rouse/home"
)

// Reset settles an interrupted cycle and puts active.yaml aside, readable or
// not; the next cycle begins with the initial state. It gives the new name, or ""
// where there was no active.yaml. With clean it also removes the journals, logs
// and snapshots of earlier cycles. It fails with [home.ErrAwake] while one is awake.
func (a *Agent) Reset(clean bool) (string, error) {
	if err := a.Home.MakeFolders(a.disk()); err != nil {
		return "", fmt.Errorf("reset: %w", err)
	}
	unlock, err := a.Home.Lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	settleErr := a.settleOrGiveUp()
	to, err := a.setAside()
	if clean {
		err = cmp.Or(err, settleErr)
	}
	if err == nil && clean {
		err = a.clean()
	}
	if err != nil {
		return to, fmt.Errorf("reset: %w", err)
	}
	return to, nil
}

// settleOrGiveUp settles an interrupted cycle. One that cannot be settled is no
// reason to keep a memory that the operator wants gone: it then counts as
// failed, and its snapshots and journal stay.
func (a *Agent) settleOrGiveUp() error {
	id, err := a.Home.Newest()
	if err != nil || id == "" {
		return err
	}
	seal, err := a.seal()
	if err == nil {
		_, err = a.settleIf(id, seal.key)
	}
	if err == nil || errors.As(err, new(*Conflict)) {
		return nil
	}
	t, readErr := a.readTrace(id, seal.key)
	if readErr != nil {
		return err
	}
	c, openErr := a.reopen(id, t)
	if openErr != nil {
		return err
	}
	defer c.journal.Close()
	return cmp.Or(a.giveUp(c, "not settled: "+err.Error()), err)
}

// setAside renames active.yaml to the first free name that is not before the
// newest cycle: where all else is removed, it says which ids are taken.
func (a *Agent) setAside() (string, error) {
	if !exists(a.Home.Active()) {
		return "", nil
	}
	newest, _ := a.Home.Newest() // logs that cannot be read keep no memory from being put aside
	id := max(a.now().Format(home.CycleForm), newest)
	for exists(a.Home.Reset(id)) {
		id = home.NextID(a.now(), id)
	}
	to := a.Home.Reset(id)
	if err := a.disk().Rename(a.Home.Active(), to); err != nil {
		return "", err
	}
	return to, a.disk().SyncDir(a.Home.Memory())
}

// clean removes what cycles have left, the oldest first: what a fault leaves is of
// the newest, whose ids stay taken.
func (a *Agent) clean() error {
	type file struct{ cycle, path string }
	var files []file
	err := a.Home.CycleFiles(func(cycle string, kind home.Kind) {
		files = append(files, file{cycle, a.Home.Left(kind, cycle)})
	})
	if err != nil {
		return err
	}
	slices.SortFunc(files, func(x, y file) int { return cmp.Or(strings.Compare(x.cycle, y.cycle), strings.Compare(y.path, x.path)) })
	for _, f := range files {
		if err := a.disk().Remove(f.path); err != nil {
			return err
		}
	}
	copies, err := a.copies().Old(a.now().AddDate(100, 0, 0)) // however wrong the clock was
	if err == nil {
		_, err = a.copies().Remove(copies...)
	}
	return err
}
