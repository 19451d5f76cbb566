package setup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"rouse/agent"
	"rouse/agent/trust"
	"rouse/internal/disk"
	"rouse/journal"
	"rouse/tools"
	"rouse/tools/skill"
)

// Skill is one of the home's, as people see it. Its JSON is that of `rouse skills list`.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	State       string `json:"state"`  // [SkillOn], or why the model does not see it
	Origin      string `json:"origin"` // where it was taken from, "" unless it was accepted
	Folder      string `json:"folder"`
	Files       int    `json:"files"`
	Bytes       int64  `json:"bytes"`
	// Problems are what is wrong with its form, and where it conceals something.
	Problems []string `json:"problems"`

	loaded skill.Skill
	off    error // unless it is on
}

// Mend says why one that was accepted is off and what mends it, "" where its problems do.
func (k Skill) Mend() string {
	if k.off == nil || k.State == "broken" {
		return ""
	}
	return k.off.Error()
}

// SkillOn is the state of a skill that is none of new, changed, gone and broken.
const SkillOn = "on"

// skillFolders are those in which skills are.
func (s *Setup) skillFolders() (dirs []string) {
	if s.Config.Skills == nil {
		return []string{s.Home.Skills()}
	}
	for _, path := range s.Config.Skills {
		dirs = append(dirs, s.Config.Path(path))
	}
	return dirs
}

// Skills are those of the home, and those that were accepted and are gone.
func (s *Setup) Skills() []Skill { return s.skills(s.known().Skills(), true) }

// skills looks at those that were accepted, or at all.
func (s *Setup) skills(accepted map[string]journal.TrustedSkill, all bool) (list []Skill) {
	for _, dir := range skill.Find(s.skillFolders()...) {
		if pin, ok := accepted[filepath.Base(dir)]; ok || all {
			list = append(list, skillOf(dir, pin))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(accepted)) {
		if !slices.ContainsFunc(list, func(k Skill) bool { return k.Name == name }) {
			off := fmt.Errorf("the skill %s is off, as its folder is gone; put it back, or run rouse skills accept %[1]s to forget it", name)
			list = append(list, Skill{Name: name, State: "gone", Origin: accepted[name].From, Problems: []string{}, off: off})
		}
	}
	return list
}

// skillOf is a skill beside what was accepted of it.
func skillOf(dir string, pin journal.TrustedSkill) Skill {
	l, err := skill.Load(dir)
	k := Skill{Name: l.Name, Description: l.Description, State: SkillOn, Origin: pin.From, Folder: dir, Files: len(l.Files), Bytes: l.Bytes, Problems: l.Problems, loaded: l}
	switch {
	case err != nil:
		why := strings.TrimPrefix(err.Error(), fmt.Sprintf("skill %.80q: ", k.Name))
		k.State, k.Problems, k.off = "broken", append(k.Problems, why), fmt.Errorf("%w, so that it is off", err)
	case pin.Hash == "":
		k.State = "new"
	case pin.Hash != l.Hash:
		k.State, k.off = "changed", fmt.Errorf("the skill %s is off, as its files are not those that were accepted; look at %s and run rouse skills accept %[1]s", k.Name, dir)
	}
	return k
}

// skillBox has the tool that shows the skills that were accepted, as far as they are what
// they were then. A home that has none pays nothing for it.
func (s *Setup) skillBox(ctx context.Context, host agent.Host) (b agent.Box) {
	if len(host.Skills) == 0 {
		return b
	}
	if _, done, err := host.Tool(ctx, skill.ToolName); err == nil { // a command of the operator's
		done()
		b.Problems = []string{"skills cannot be read, as tools.commands has a tool of the name " + skill.ToolName + "; rename it"}
		return b
	}
	var on []skill.Skill
	for _, k := range s.skills(host.Skills, false) {
		if k.off == nil {
			on = append(on, k.loaded)
		} else {
			b.Problems = append(b.Problems, k.off.Error())
		}
	}
	b.Waiting = b.Problems
	if len(on) > 0 {
		b.Tools = []tools.Tool{skill.Tool(on)}
	}
	return b
}

// AcceptSkill accepts a skill as it is now; one that is gone is forgotten.
func (s *Setup) AcceptSkill(name string) (Skill, error) {
	list := s.Skills()
	i := slices.IndexFunc(list, func(k Skill) bool { return k.Name == name })
	if i < 0 {
		return Skill{}, fmt.Errorf("there is no skill %.80q; rouse skills list shows those that are there", name)
	}
	if list[i].State == "broken" {
		return Skill{}, list[i].off
	}
	return s.pinSkill(list[i], cmp.Or(list[i].Origin, list[i].Folder))
}

// pinSkill puts down that a person accepted a skill.
func (s *Setup) pinSkill(k Skill, from string) (Skill, error) {
	err := trust.Accept(s.Home, disk.OS{}, func(t *journal.Trust) {
		pins := map[string]journal.TrustedSkill{}
		maps.Copy(pins, t.Skills)
		if delete(pins, k.Name); k.State == "gone" {
			k.State = "forgotten"
		} else {
			pins[k.Name] = journal.TrustedSkill{Hash: k.loaded.Hash, From: from}
			k.State, k.Origin = SkillOn, from
		}
		t.Skills = pins
	})
	return k, err
}
