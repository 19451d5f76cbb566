package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"rouse/internal/proc"
)

const (
	variablesName = "variables.pickle"
	// savedName is the folder in which a process writes its variables.
	savedName = "saved"
	newSuffix = ".new"
	// triedName holds variables while they are restored, and after that has
	// failed; they are not tried again.
	triedName    = "variables.tried"
	readyTimeout = 30 * time.Second
)

// ready sees to it that there is a process that can run cells. One that was
// lost is replaced; an environment whose Python does not run is made anew, once.
func (r *Runtime) ready(ctx context.Context, started func(proc.Identity)) error {
	if r.kernel != nil {
		select {
		case <-r.kernel.dead:
			r.kernel.end()
			r.kernel = nil
			r.lose("its process had ended")
		default:
			return nil
		}
	}
	if err := r.environment(ctx); err != nil {
		return err
	}
	if err := cmp.Or(r.unpack(), r.endLeftovers()); err != nil {
		return err
	}
	err := r.boot(ctx)
	if errors.Is(err, errEnvironment) && !r.runs(ctx) && ctx.Err() == nil {
		if err = r.rebuild(ctx); err == nil {
			err = r.boot(ctx)
		}
	}
	if err == nil && started != nil {
		started(r.kernel.proc.Identity())
	}
	return err
}

// errEnvironment says that a new environment may help.
var errEnvironment = errors.New("the environment does not work")

// boot starts a process and, unless one of ours was lost, restores what was
// saved. Variables with which it does not start are put aside.
func (r *Runtime) boot(ctx context.Context) error {
	tried := r.path(triedName)
	restore := false
	if !r.lost {
		err := r.c.FS.Rename(r.path(variablesName), tried)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("restore variables: %w", err)
		}
		restore = err == nil
	}
	if !restore {
		return r.bootWith(ctx, "")
	}
	err := r.bootWith(ctx, tried)
	if err == nil {
		return r.c.FS.Rename(tried, r.path(variablesName))
	}
	if ctx.Err() != nil { // it is nobody's fault
		return errors.Join(err, r.c.FS.Rename(tried, r.path(variablesName)))
	}
	if r.bootWith(ctx, "") != nil { // then it is not the variables'
		return errors.Join(err, r.c.FS.Rename(tried, r.path(variablesName)))
	}
	r.notes = append(r.notes, fmt.Sprintf("the saved variables could not be restored: %v; they are kept in %s", err, triedName))
	return nil
}

func (r *Runtime) bootWith(ctx context.Context, variables string) error {
	k, err := r.startKernel(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errEnvironment, err)
	}
	var m message
	if err = r.remember(k.proc); err == nil {
		m, err = r.greet(ctx, k, variables)
	}
	if err == nil {
		r.kernel = k
		r.tell(m)
		return nil
	}
	k.kill()
	k.end()
	if ctx.Err() != nil {
		return fmt.Errorf("start notebook: %w", ctx.Err())
	}
	return fmt.Errorf("start notebook: %w", err)
}

// greet configures a new process and waits until it is ready.
func (r *Runtime) greet(ctx context.Context, k *kernel, variables string) (message, error) {
	wait, cancel := context.WithTimeout(ctx, readyTimeout+r.c.SaveTimeout)
	defer cancel()
	k.attach(silent())
	defer k.attach(nil)
	nonce, err := k.send(map[string]any{"do": "boot", "workspace": r.c.Workspace, "memory": r.c.Memory, "secrets": r.c.Secret,
		"variables": variables, "seconds": r.c.SaveTimeout.Seconds()})
	if err != nil {
		return message{}, fmt.Errorf("%w: %s", errEnvironment, k.diagnosis())
	}
	m, err := k.await(wait, nonce, "ready")
	if err != nil {
		return message{}, fmt.Errorf("%w: %w", errEnvironment, err)
	}
	if m.Error != "" {
		return message{}, errors.New(m.Error)
	}
	rec, err := r.record()
	if err != nil || rec.Python != m.Python {
		return message{}, fmt.Errorf("%w: it was made with Python %s and now runs %s", errEnvironment, rec.Python, m.Python)
	}
	return m, nil
}

// tell puts into words what was restored.
func (r *Runtime) tell(m message) {
	if m.Unreadable != "" {
		r.notes = append(r.notes, "the file of saved variables is damaged: "+m.Unreadable)
	}
	if len(m.Restored) > 0 {
		r.notes = append(r.notes, fmt.Sprintf("restored %d variables%s: %s", len(m.Restored), at(m.Time), listed(m.Restored)))
	}
	if len(m.Imported) > 0 {
		r.notes = append(r.notes, "imported again: "+listed(m.Imported))
	}
	if len(m.Dropped) > 0 {
		r.notes = append(r.notes, fmt.Sprintf("not restored: %s", reasons(m.Dropped)))
	}
}

func at(unix float64) string {
	if unix == 0 {
		return ""
	}
	return " as saved at " + time.Unix(int64(unix), 0).Format(time.RFC3339)
}

// most is how many names are listed.
const most = 40

func listed(names []string) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func reasons(dropped [][2]string) string {
	var list []string
	for _, d := range dropped {
		list = append(list, d[0]+" ("+d[1]+")")
	}
	return listed(list)
}

// save saves the variables, in the time that ctx and the configuration leave.
func (r *Runtime) save(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.c.SaveTimeout)
	defer cancel()
	deadline, _ := ctx.Deadline()
	fresh := r.path(savedName, variablesName+newSuffix)
	k := r.kernel
	k.attach(silent())
	defer k.attach(nil)
	nonce, err := k.send(map[string]any{"do": "save", "path": fresh, "bytes": maxVariables, "seconds": time.Until(deadline).Seconds() * 0.8})
	if err == nil {
		_, err = k.await(ctx, nonce, "saved")
	}
	if err != nil {
		return fmt.Errorf("save variables: %w", err)
	}
	if err := r.keep(fresh); err != nil {
		return fmt.Errorf("save variables: %w", err)
	}
	return nil
}

// keep makes the file that the process wrote the one to restore from, durably.
func (r *Runtime) keep(fresh string) error {
	f, err := r.c.FS.OpenFile(fresh, os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	if err := cmp.Or(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := r.c.FS.Rename(fresh, r.path(variablesName)); err != nil {
		return err
	}
	return r.c.FS.SyncDir(r.dir)
}

// forget deletes the saved variables.
func (r *Runtime) forget() error {
	for _, name := range []string{variablesName, triedName} {
		if err := r.c.FS.Remove(r.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget variables: %w", err)
		}
	}
	return nil
}
