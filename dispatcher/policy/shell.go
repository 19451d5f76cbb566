package policy

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"unicode"

	"rouse/internal/lazy"
)

// simple is one command of a shell: a program and its words. Calls of other tools have
// one that is empty.
type simple struct {
	// text are its words, without their quotes; from the first file name pattern on that
	// is anyFile.
	text string
	// odd is why nobody can tell what it runs, "" where one can. Then it may be what a
	// rule is about that asks or denies.
	odd string
	// unread says that not even its words are known.
	unread bool
}

// anyFile stands for the names of files that a pattern of them becomes.
const anyFile = "\x00\x00\x00"

// maxCommand is the longest command that is looked at, in bytes.
const maxCommand = 8 << 10

// commands are the simple commands of a call.
func (c Call) commands() []simple {
	if c.Tool != "shell" {
		return []simple{{}}
	}
	var a struct{ Command string }
	if json.Unmarshal(c.Args, &a) != nil || len(a.Command) > maxCommand {
		return []simple{{odd: "more than 8 KiB", unread: true}}
	}
	return split(a.Command)
}

// split takes a command line apart where it is plain: words, quoted or not, between
// newlines, ; & and |. It knows no shell: what it does not know makes all of it odd.
func split(line string) (list []simple) {
	var words []string
	end := func() {
		if len(words) > 0 {
			list, words = append(list, newSimple(words)), nil
		}
	}
	for line != "" {
		switch {
		case strings.ContainsRune(" \t", rune(line[0])):
			line = line[1:]
			continue
		case strings.ContainsRune(separators, rune(line[0])):
			end()
			line = line[1:]
			continue
		}
		word, size := read(line)
		if size < 0 || size < len(line) && !strings.ContainsRune(" \t"+separators, rune(line[size])) {
			return []simple{{odd: "quotes, $, redirections or other signs that a shell reads", unread: true}}
		}
		if line = line[size:]; word != nil {
			words = append(words, *word)
		}
	}
	end()
	if list == nil {
		list = []simple{{}}
	}
	return list
}

const separators = "\n;&|"

// read reads a word at the beginning of a line, nil where that is a redirection which
// writes nothing; the size is below 0 where it is no plain word.
func read(line string) (word *string, size int) {
	for _, r := range []string{"2>&1", "1>&2", ">&2", "2>/dev/null", "1>/dev/null", ">/dev/null"} {
		if strings.HasPrefix(line, r) {
			return nil, len(r)
		}
	}
	if quote := line[0]; quote == '\'' || quote == '"' {
		text, _, closed := strings.Cut(line[1:], string(quote))
		if !closed || strings.ContainsRune(text, 0) || quote == '"' && strings.ContainsAny(text, "$`\\!") {
			return nil, -1
		}
		return &text, len(text) + 2
	}
	size = strings.IndexFunc(line, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_./:=@%+,-~^*?[]", r) || r == unicode.ReplacementChar
	})
	if size < 0 {
		size = len(line)
	}
	text := line[:size]
	if i := strings.IndexAny(text, "*?["); i >= 0 && text != "[" {
		text = text[:i] + anyFile
	}
	if size == 0 {
		size = -1
	}
	return &text, size
}

// newSimple is the command of some words.
func newSimple(words []string) (s simple) {
	s.text = strings.Join(words, " ")
	name := words[0]
	switch {
	case strings.Contains(name, anyFile) || strings.Contains(name, "="):
		s.odd, s.unread = "an assignment or a pattern of files in the place of a program", true
	case has(compound, name):
		s.odd, s.unread = name, true
	case nested.Get().MatchString(s.text):
		s.odd = "a $, a ` or an alias that another program may read"
	case strings.ContainsAny(name, "/~") && !slices.Contains([]string{"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"}, path.Dir(name)):
		s.odd = "a program by its path"
	}
	for t := range s.tails {
		first, _, _ := strings.Cut(t, " ")
		if has(wrappers, first) || has(runners, first) && strings.Contains(s.text, anyFile) {
			s.odd, s.unread = first, true
		} else if s.odd == "" && has(interpreters, strings.TrimRight(first, "0123456789.")) {
			s.odd = first
		}
	}
	return s
}

// fit says how what is to be allowed, or else, fits a command.
func (s simple) fit(is func(string, bool) bool, allow bool) fit {
	if allow && !s.unread && is(s.text, false) {
		return yes
	}
	if s.odd != "" {
		return maybe
	}
	for t := range s.tails {
		start, _, open := strings.Cut(t, anyFile)
		if !allow && (!open || strings.Contains(start, " ")) && is(start, open) {
			return yes
		}
	}
	return no
}

// nested finds what a shell replaces, in a word that was quoted, and what git does.
var nested = lazy.Regexp{Expr: "`|\\$[\\w({@*#?!$-]|(?i)\\balias\\."}

// optioned is a pattern of a command that has options before the rest, as in git -C x push.
func optioned(pattern string) string {
	if _, ok := expression(pattern); ok {
		return pattern
	}
	return strings.Replace(pattern, " ", " -* ", 1)
}

// tails yields each part of a command that may be one of its own: what another program
// is given to run, as in nice -n 5 git push, also through a shell that reads its quotes
// once more, and a program without its folder.
func (s simple) tails(yield func(string) bool) {
	plain := strings.Join(strings.Fields(s.text), " ")
	for _, text := range slices.Compact([]string{plain, strings.NewReplacer(`"`, "", "'", "", `\`, "").Replace(plain)}) {
		before := ' '
		for i, r := range text {
			if strings.ContainsRune(starts, before) && !strings.ContainsRune(starts, r) && !yield(text[i:]) {
				return
			}
			before = r
		}
	}
}

// starts are what a command may stand behind, in a word.
const starts = " \t/(\"'=:!,+" + separators

func has(list, name string) bool { return slices.Contains(strings.Fields(list), name) }

const (
	// compound are words of the shell that begin a command which holds others.
	compound = "if then elif else fi for while until do done case esac select function coproc time { } [[ . : !"
	// wrappers run what they are told by their words or their input, or change what a
	// name stands for.
	wrappers = "sh bash dash ash zsh ksh mksh yash fish csh tcsh rc busybox toybox eval exec source command builtin alias unalias export readonly declare typeset local set shopt trap hash enable " +
		"env sudo doas su runuser setpriv chroot unshare nsenter xargs parallel ssh watch script expect screen tmux at batch crontab systemd-run -exec -execdir -ok -okdir"
	// runners run the words behind them.
	runners = "nice nohup time timeout stdbuf setsid ionice chrt taskset flock strace ltrace start-stop-daemon doas " +
		"prlimit setarch linux32 linux64 i386 x86_64 fakeroot unbuffer chronic numactl perf valgrind rlwrap torsocks proxychains faketime choom eatmydata bwrap firejail proot dbus-run-session msgfilter"
	// interpreters run what is in their files or their input.
	interpreters = "python pypy ipython perl ruby node nodejs deno bun php lua tclsh wish guile Rscript julia awk gawk mawk nawk sed gsed ed ex vi vim view emacs m dc make gmake just npm npx yarn pnpm gdb " +
		"go cargo java kotlin scala gradle mvn ant dotnet R tcc csi bc sqlite psql mysql pip pipx uv uvx poetry tox pytest cmake ninja meson rake bundle run-parts logrotate socat docker podman kubectl tar split rsync"
)
