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
		top, failed := os.MkdirTemp("", "rouse-skill-")
		if failed != nil {
			return Skill{}, failed
		}
		defer os.RemoveAll(top)
		dir, from, err = s.clone(ctx, top, source)
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
		err = fmt.Errorf("there is no %s; name a folder below that has one: %s", skill.Main, text.Join(in, ", ", func(d string) string { return strings.TrimPrefix(d, dir+"/") }))
	}
	if err != nil {
		return "", err
	}
	name := k.Name
	if skill.ValidName(k.Named) {
		name = k.Named
	}
	if to = filepath.Join(s.Home.Skills(), name); disk.Exists(to) {
		return "", fmt.Errorf("%s is there already; to have the other one, remove that folder first", to)
	}
	half := filepath.Join(s.Home.Skills(), ".half", name)
	defer os.RemoveAll(filepath.Dir(half))
	_ = os.RemoveAll(half) // of one that was killed
	for _, name := range k.Files {
		path, perm := filepath.Join(half, name), os.FileMode(0o644)
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			perm |= info.Mode() & 0o111
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
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
	if !strings.Contains(part[1], ":") && !disk.Exists(part[1]) {
		return "", "", fmt.Errorf("there is no folder %.200q; of a repository elsewhere write the whole address, such as https://HOST/NAME", part[1])
	}
	var out, failed bytes.Buffer
	dir = filepath.Join(top, "skill")
	exit, err := s.Runner().Run(ctx, proc.Command{
		Argv: []string{"sh", "-c", gitFetch, "sh", dir, part[1], cmp.Or(part[2], "HEAD")}, Stdout: &out, Stderr: &failed, Timeout: 5 * time.Minute, MaxOutput: 1 << 20,
		Env: []string{"GIT_TERMINAL_PROMPT=0", "SSH_AUTH_SOCK=" + s.Getenv("SSH_AUTH_SOCK")}, // of the person who asks
	})
	if err == nil && !exit.OK() {
		err = fmt.Errorf("git, for the skill: %v: %s", exit, text.Brief(failed.String(), 400))
	}
	if root, failed := os.OpenRoot(dir); failed == nil && part[3] != "" { // a link may lead out of it
		_, failed = root.Stat(part[3])
		err = cmp.Or(err, failed, root.Close())
	}
	if u, failed := url.Parse(part[1]); failed == nil && u.User != nil {
		u.User = nil
		part[1] = u.String()
	}
	return filepath.Join(dir, part[3]), strings.TrimSuffix(part[1]+"#"+strings.TrimSpace(out.String())+"//"+part[3], "//"), err
}

// gitFetch fetches one commit, and says which.
const gitFetch = `git init -q "$1" && cd "$1" && git fetch -q --depth 1 -- "$2" "$3" && git checkout -q FETCH_HEAD && git rev-parse HEAD`
