package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/agent/history"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/internal/proc"
	"rouse/internal/sweep"
	"rouse/journal"
	"rouse/scratchpad/observation"
)

const leaked = `hunter2+/"é of ours`

// leakyHome is a home after two cycles in which a value stands everywhere.
func leakyHome(t testing.TB, dir string) *rig {
	r := newRig(t, dir, "notes: see\ntoken: "+leaked+"\ngoals: [see]\n")
	r.must(r.home.MakeFolders(unsynced{disk.OS{}}))
	inside, err := json.Marshal(leaked)
	r.must(err)
	text := strings.Trim(string(inside), `"`)
	for i := range 2 {
		_, err := r.keeping(unsynced{disk.OS{}}, act("write_file", fmt.Sprintf(`{"path":"f%d","text":"a %s b%d"}`, i, text, i)),
			act("update_scratchpad", `{"said":"`+text+`"}`), act("done", `{"summary":"`+text+`"}`)).RunOnce(t.Context())
		r.must(err)
		r.now = r.now.Add(time.Minute)
	}
	encoded := base64.StdEncoding.EncodeToString([]byte("user:"+leaked)) + " " + url.QueryEscape(leaked)
	sum := fmt.Sprintf("%x", sha256Of("rules "+leaked))
	for path, text := range map[string]string{
		r.home.Archive(): `{"task":"` + text + `"}` + "\n", r.home.DueLog(): leaked, r.home.DueLog() + home.Aside: encoded, r.home.Slots(): `{"error":"` + text + `"}` + "\n",
		r.home.Told(): text, r.home.DroppedNotes(): encoded, r.home.Search(): leaked, filepath.Join(r.home.Made(), sum): "rules " + leaked,
		filepath.Join(r.home.Notebooks(), "n", "cells.jsonl"): `{"code":"` + text + `"}`, filepath.Join(r.home.Notebooks(), "n", "variables.pickle"): "\x80\x04\x95" + leaked + "\x00",
		filepath.Join(r.home.Memory(), "."+"active.yaml.0123abcd.tmp"): leaked,
	} {
		r.must(os.MkdirAll(filepath.Dir(path), 0o700))
		r.must(os.WriteFile(path, []byte(text), 0o600))
	}
	store, err := observation.Open(r.home.Memory(), observation.Options{})
	r.must(err)
	defer store.Close()
	turn, err := store.Begin(r.cycles()[0], proc.Self())
	r.must(err)
	for _, pad := range []int{10, 4_000} {
		w := turn.Create(observation.Origin{Step: 1, Executor: "shell"})
		fmt.Fprint(w, strings.Repeat("line of it\n", pad), leaked, strings.Repeat("\nmore of it", pad))
		_, err = w.Commit([]byte(`{"path":"` + text + `"}`))
		r.must(err)
	}
	gone := turn.Create(observation.Origin{})
	fmt.Fprint(gone, "gone ", leaked)
	e, err := gone.Commit(nil)
	r.must(err)
	r.must(store.Remove(e.ID))
	r.must(turn.End())
	return r
}

// remains says which files have the value still, also within what is compressed.
func (r *rig) remains() (list []string) {
	inside, _ := json.Marshal(leaked)
	needles := []string{leaked, strings.Trim(string(inside), `"`), url.QueryEscape(leaked), base64.StdEncoding.EncodeToString([]byte("user:" + leaked))[8:30], "hunter2+"}
	look := func(name string, data []byte) {
		for _, n := range needles {
			if bytes.Contains(data, []byte(n)) {
				list = append(list, name)
				return
			}
		}
	}
	r.must(filepath.WalkDir(r.home.Dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			look(path, []byte(r.read(path)))
		}
		return err
	}))
	versions := history.Store{Dir: r.home.History()}
	contents := versions.Contents()
	defer contents.Close()
	ids, err := versions.Versions()
	r.must(err)
	for _, id := range ids {
		v, err := versions.Read(id)
		r.must(err)
		for e := range v.All() {
			if e.Kind == history.File {
				in, err := contents.Of(e)
				if err != nil {
					list = append(list, id+" cannot be read")
					continue
				}
				var b bytes.Buffer
				if _, err := b.ReadFrom(in); err != nil {
					list = append(list, id+" cannot be read: "+err.Error())
				}
				look(id+" "+e.Path, b.Bytes())
			}
		}
	}
	store, err := observation.Open(r.home.Memory(), observation.Options{})
	r.must(err)
	defer store.Close()
	all, err := store.List(observation.Filter{Expired: true})
	r.must(err)
	for _, e := range all {
		c, err := store.Get(e.ID)
		r.must(err)
		var b bytes.Buffer
		_, err = c.WriteTo(&b)
		r.must(err)
		look(e.ID, append(b.Bytes(), fmt.Sprint(e)...))
		if err := c.Close(); err != nil || int64(b.Len()) != e.Bytes || e.SHA256 != fmt.Sprintf("%x", sha256Of(b.String())) {
			list = append(list, e.ID+" is not what its row says")
		}
	}
	return list
}

// forgotten wants a home without the value, whose journals are proven and which goes on.
func (r *rig) forgotten(context string) {
	r.t.Helper()
	if left := r.remains(); len(left) > 0 {
		r.t.Fatalf("%s: it remains in %q", context, left)
	}
	if _, doubts, err := Verify(r.home, 20); err != nil || len(doubts) > 0 {
		r.t.Fatalf("%s: journals %q, %v", context, doubts, err)
	}
	if disk.Exists(r.home.Forgetting()) {
		r.t.Fatalf("%s: it did not come to its end", context)
	}
	r.state(r.home.Active())
}

func TestForget(t *testing.T) {
	r := leakyHome(t, "")
	r.must(os.WriteFile(r.home.Config(), []byte("# "+leaked+"\n"), 0o600))
	k := &r.keeping(nil).Keeper
	had := r.remains()
	f, err := k.Forget(t.Context(), leaked, false)
	if err != nil || f.Done || len(r.remains()) != len(had) || len(had) < 20 {
		t.Fatalf("to show it changed something, or it was in little: %q, %v", had, err)
	}
	places := map[string]bool{}
	for _, p := range f.Places {
		places[p.Place] = p.Hits >= max(1, p.Files)
	}
	for _, name := range []string{"the memory", "snapshots of the memory", "archive of tasks", "journals of cycles", "logs", "the history", "all observations", "notebooks", "workspace", "index of the search", "copies of rules and configuration"} {
		if !places[name] {
			t.Errorf("it is in %s too: %+v", name, f.Places)
		}
	}
	if f, err = k.Forget(t.Context(), leaked, true); err != nil || !f.Done || len(f.Kept) != 1 || f.Kept[0] != "rouse.yaml" {
		t.Fatalf("%+v, %v", f, err)
	}
	r.must(os.Remove(r.home.Config()))
	r.forgotten("forgotten")
	for _, id := range r.cycles() {
		events := r.events(id)
		if s := events[len(events)-1].Data.(*journal.Sleep); s.Forgotten < 4 {
			t.Errorf("the journal of %s does not say so: %+v", id, s)
		}
	}
	if list, err := os.ReadDir(r.home.Made()); err != nil || len(list) == 0 {
		t.Error(err)
	} else {
		for _, e := range list {
			if e.Name() != fmt.Sprintf("%x", sha256Of(r.read(filepath.Join(r.home.Made(), e.Name())))) {
				t.Errorf("the copy %s is another", e.Name())
			}
		}
	}
	if f, err = k.Forget(t.Context(), leaked, true); err != nil || !f.Nothing() || f.Done {
		t.Errorf("once more: %+v, %v", f, err)
	}
	r.wakeAgain("forgotten")
	unlock, err := r.home.Lock()
	r.must(err)
	defer unlock()
	if _, err := k.Forget(t.Context(), leaked, false); !errors.Is(err, home.ErrAwake) {
		t.Errorf("while a cycle is awake: %v", err)
	}
}

// searching is a disk on which somebody searches again and again.
type searching struct {
	disk.FS
	index string
}

func (s searching) Rename(from, to string) error {
	return errors.Join(s.FS.Rename(from, to), os.WriteFile(s.index, []byte(leaked), 0o600))
}

// What a search meanwhile takes into its index, of files that still have the value, goes too.
func TestForgetWhileSearching(t *testing.T) {
	r := leakyHome(t, "")
	_, err := r.keeping(searching{unsynced{disk.OS{}}, r.home.Search()}).Forget(t.Context(), leaked, true)
	r.must(err)
	r.forgotten("forgotten")
}

// Lines that nobody proved are not proven by it, and what a person vouched for stays so.
func TestForgetUnproven(t *testing.T) {
	r := leakyHome(t, "")
	ids := r.cycles()
	for _, id := range ids {
		f, err := os.OpenFile(r.home.Journal(id), os.O_APPEND|os.O_WRONLY, 0)
		r.must(err)
		fmt.Fprintf(f, `{"v":1,"seq":99,"event":"result","step":9,"ok":true,"error":%q}`+"\n", leaked)
		r.must(f.Close())
	}
	k := &r.keeping(nil).Keeper
	if _, err := k.Vouch(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(r.home.Journal(ids[1]), os.O_APPEND|os.O_WRONLY, 0)
	r.must(err)
	fmt.Fprintf(f, `{"v":1,"seq":99,"event":"result","step":10,"ok":true,"error":%q}`+"\n", leaked)
	r.must(f.Close())
	_, doubts, err := Verify(r.home, 20)
	if err != nil || len(doubts) != 1 {
		t.Fatalf("%q, %v", doubts, err)
	}
	if f, err := k.Forget(t.Context(), leaked, true); err != nil || !f.Done {
		t.Fatalf("%+v, %v", f, err)
	}
	_, now, err := Verify(r.home, 20)
	if err != nil || len(now) != 0 && len(now) != 1 || len(r.remains()) > 0 {
		t.Errorf("%q, %v", now, err)
	}
	if len(now) != 1 || !strings.Contains(now[0], ids[1]) {
		t.Errorf("unproven %q, was %q", now, doubts)
	}
}

// With every fault at every write it is an error, or done; then it is done again.
func TestEveryFaultOfForget(t *testing.T) {
	base := t.TempDir()
	whole := leakyHome(t, filepath.Join(base, "home"))
	runs := 0
	run := func(fault disktest.Fault) *disktest.Faulty {
		runs++
		r := whole.in(filepath.Join(base, fmt.Sprint(runs)))
		r.must(os.CopyFS(r.home.Dir, os.DirFS(whole.home.Dir)))
		f := &disktest.Faulty{FS: unsynced{disk.OS{}}, Fault: fault}
		done, err := r.keeping(f).Forget(t.Context(), leaked, true)
		if len(f.Fired()) > 0 && err == nil && len(r.remains()) > 0 {
			t.Fatalf("%v: silent success: %+v, it remains in %q", fault, done, r.remains())
		}
		r.state(r.home.Active())
		if _, err := r.keeping(unsynced{disk.OS{}}).Forget(t.Context(), leaked, true); err != nil {
			t.Fatalf("%v: again: %v", fault, err)
		}
		r.forgotten(fault.String())
		r.must(os.RemoveAll(r.home.Dir))
		return f
	}
	ops, kinds, fired := len(run(disktest.Fault{}).Ops()), faults(), 0
	step := max(1, ops*len(kinds)/sweep.Of(12, 80, ops*len(kinds)))
	for n := 0; n < ops*len(kinds); n += step {
		fault := kinds[n%len(kinds)]
		fault.At = 1 + n/len(kinds)
		fired += len(run(fault).Fired())
	}
	if fired == 0 {
		t.Error("no fault fired")
	}
	t.Logf("values left 0 / %d runs, faults fired %d; %d writes", runs, fired, ops)
}

func sha256Of(text string) [32]byte { return sha256.Sum256([]byte(text)) }
