package agent

import (
	"cmp"
	"errors"
	"fmt"
	"sort"

	"rouse/agent/approval"
	"rouse/agent/history"
	"rouse/home"
	"rouse/internal/disk"
)

// Reset settles an interrupted cycle and puts active.yaml aside, readable or
// not; the next cycle begins with the initial state. It gives the new name, or ""
// where there was no active.yaml. With clean it also removes the journals, logs
// and snapshots of earlier cycles. It fails with [home.ErrAwake] while one is awake.
func (k *Keeper) Reset(clean bool) (string, error) {
	if err := k.Home.MakeFolders(k.disk()); err != nil {
		return "", fmt.Errorf("reset: %w", err)
	}
	unlock, err := k.Home.Lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	settleErr := k.settleOrGiveUp()
	to, err := k.setAside()
	asked := approval.File{Path: k.Home.Approvals(), Lock: k.Home.ApprovalsLock(), Disk: k.Disk, Now: k.Now}
	err = cmp.Or(err, asked.Withdraw("the home was reset"))
	if clean {
		err = cmp.Or(err, settleErr)
	}
	if err == nil && clean {
		err = k.clean()
	}
	if err != nil {
		return to, fmt.Errorf("reset: %w", err)
	}
	return to, nil
}

// settleOrGiveUp settles an interrupted cycle. One that cannot be settled is no
// reason to keep a memory that the operator wants gone: it then counts as
// failed, and its snapshots and journal stay.
func (k *Keeper) settleOrGiveUp() error {
	id, err := k.Home.Newest()
	if err != nil || id == "" {
		return err
	}
	seal, err := k.seal()
	if err == nil {
		_, err = k.settleIf(id, &seal)
	}
	if err == nil || errors.As(err, new(*Conflict)) {
		return nil
	}
	t, readErr := k.readTrace(id, seal.key)
	if readErr != nil || k.keepKey(&seal) != nil {
		return err
	}
	c, openErr := k.reopen(id, t)
	if openErr != nil {
		return err
	}
	defer c.journal.Close()
	return cmp.Or(k.giveUp(c, "not settled: "+err.Error()), err)
}

// setAside renames active.yaml to the first free name that is not before the
// newest cycle: where all else is removed, it says which ids are taken.
func (k *Keeper) setAside() (string, error) {
	if !disk.Exists(k.Home.Active()) {
		return "", nil
	}
	newest, _ := k.Home.Newest() // logs that cannot be read keep no memory from being put aside
	id := max(k.now().Format(home.CycleForm), newest)
	for disk.Exists(k.Home.Reset(id)) {
		id = home.NextID(k.now(), id)
	}
	to := k.Home.Reset(id)
	if err := k.disk().Rename(k.Home.Active(), to); err != nil {
		return "", err
	}
	return to, k.disk().SyncDir(k.Home.Memory())
}

// clean removes what cycles have left, the oldest first: what a fault leaves is of
// the newest, whose ids stay taken.
func (k *Keeper) clean() error {
	type file struct{ cycle, path string }
	var files []file
	err := k.Home.CycleFiles(func(cycle string, kind home.Kind) {
		files = append(files, file{cycle, k.Home.Left(kind, cycle)})
	})
	if err != nil {
		return err
	}
	sort.Slice(files, func(i, j int) bool {
		x, y := files[i], files[j]
		return x.cycle < y.cycle || x.cycle == y.cycle && x.path > y.path
	})
	for _, f := range files {
		if err := k.disk().Remove(f.path); err != nil {
			return err
		}
	}
	if err := k.Home.DropSearch(k.disk()); err != nil {
		return err
	}
	copies, err := k.copies().Old(k.now().AddDate(100, 0, 0)) // however wrong the clock was
	if err == nil {
		_, err = k.copies().Remove(copies...)
	}
	return cmp.Or(err, history.Store{Dir: k.Home.History(), Disk: k.Disk}.Clear())
}
