package setup

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rouse/internal/disk"
	"rouse/internal/lazy"
	"rouse/internal/proc"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/tools/skill"
)

// AddSkill copies a skill into the home and accepts it. Its source is a folder, or an
// address that git knows, with #REF behind it and then //FOLDER of the repository.
func (s *Setup) AddSkill(ctx context.Context, source string) (Skill, error) {
	if !slices.Contains(s.skillFolders(), s.Home.Skills()) {
		return Skill{}, fmt.Errorf("rouse.yaml: skills: does not name %s; add that, or copy the skill into a folder that it names", s.Home.Rel(s.Home.Skills()))
	}
	dir, err := filepath.Abs(source)
	from := dir
	if info, failed := os.Stat(source); err == nil && (failed != nil || !info.IsDir()) {
		var top string
		if top, err = os.MkdirTemp("", "rouse-skill-"); err == nil {
			defer os.RemoveAll(top)
			dir, from, err = s.clone(ctx, top, source)
		}
	}
	if err == nil {
		dir, err = s.copySkill(dir)
	}
	if err != nil {
		return Skill{}, err
	}
	return s.pinSkill(skillOf(dir, journal.TrustedSkill{}), from)
}

// copySkill copies the files of a skill, without what is no part of it, into a folder that
// has its name, once it is whole.
func (s *Setup) copySkill(dir string) (to string, err error) {
	k, err := skill.Load(dir)
	if in := skill.Find(dir, filepath.Join(dir, filepath.Base(s.Home.Skills()))); err != nil && len(in) > 0 {
		return "", fmt.Errorf("there is no %s; name a folder below that has one: %s", skill.Main, text.Join(in, ", ", func(d string) string { return strings.TrimPrefix(d, dir+"/") }))
	}
	name := k.Named
	if !skill.ValidName(name) {
		name = k.Name
	}
	to = filepath.Join(s.Home.Skills(), name)
	switch {
	case err != nil:
		return "", err
	case !skill.ValidName(name):
		return "", fmt.Errorf("skill %.80q: its name is none: use small letters, digits and single hyphens", k.Named)
	case disk.Exists(to):
		return "", fmt.Errorf("%s is there already; to have the other one, remove that folder first", to)
	}
	half := filepath.Join(s.Home.Skills(), ".half", name)
	defer os.RemoveAll(filepath.Dir(half))
	for _, f := range k.Files {
		path, perm := filepath.Join(half, f.Path), os.FileMode(0o644)
		if f.Exec {
			perm = 0o755
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Path))
		if err := cmp.Or(err, disk.OS{}.MkdirAll(filepath.Dir(path), 0o755), disk.Replace(disk.OS{}, path, data, perm)); err != nil {
			return "", err
		}
	}
	if copied, err := skill.Load(half); err != nil || copied.Hash != k.Hash {
		return "", cmp.Or(err, fmt.Errorf("skill %s changed while it was copied", name))
	}
	return to, disk.OS{}.Rename(half, to)
}

// fetched takes ADDRESS#REF//FOLDER apart.
var fetched = lazy.Regexp{Expr: `^((?:[a-z+]+://)?[^#]*?)(?:#(.*?))?(?://(.*))?$`}

// clone fetches one commit into a folder. It gives the folder of the skill, and where that is from.
func (s *Setup) clone(ctx context.Context, top, source string) (dir, from string, err error) {
	part := fetched.Get().FindStringSubmatch(source)
	if part == nil || part[3] != "" && !filepath.IsLocal(part[3]) {
		return "", "", fmt.Errorf("%.200q: write a folder, or ADDRESS#REF//FOLDER of a repository", source)
	}
	address, dir := part[1], filepath.Join(top, "skill")
	var commit string
	for _, args := range [][]string{{"init", "-q", dir}, {"-C", dir, "fetch", "-q", "--depth", "1", "--", address, cmp.Or(part[2], "HEAD")}, {"-C", dir, "checkout", "-q", "FETCH_HEAD"}, {"-C", dir, "rev-parse", "HEAD"}} {
		if commit, err = s.git(ctx, args...); err != nil {
			return "", "", err
		}
	}
	if u, err := url.Parse(address); err == nil && u.User != nil {
		u.User = nil
		address = u.String()
	}
	return filepath.Join(dir, part[3]), strings.TrimSuffix(address+"#"+commit+"//"+part[3], "//"), nil
}

// git runs it, with the keys of the person who asked, and gives what it says.
func (s *Setup) git(ctx context.Context, args ...string) (string, error) {
	var out, failed bytes.Buffer
	exit, err := s.Runner().Run(ctx, proc.Command{
		Argv: append([]string{"git"}, args...), Stdout: &out, Stderr: &failed, Timeout: 5 * time.Minute, MaxOutput: 1 << 20,
		Env: []string{"GIT_TERMINAL_PROMPT=0", "SSH_AUTH_SOCK=" + s.Getenv("SSH_AUTH_SOCK")},
	})
	if err != nil {
		return "", fmt.Errorf("git, which fetches skills, does not start; install it, or name a folder: %w", err)
	}
	if !exit.OK() {
		return "", fmt.Errorf("git, for the skill: %v: %s", exit, text.Brief(failed.String(), 400))
	}
	return strings.TrimSpace(out.String()), nil
}
