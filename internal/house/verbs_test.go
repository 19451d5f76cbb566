package house

import (
	"fmt"
	"go/ast"
	"strings"
	"testing"
)

// maxOthers is the share of the lines of cmd/rouse, in percent, that may neither
// build a command nor print.
const maxOthers = 25

// TestVerbs counts the lines of cmd/rouse, tests apart, by what their function or
// type is for: one that names cobra or pflag builds a command; one that names a
// stream, a screen or an exit code prints, as does one that calls a function print… or
// Fprint…, and a type with the tags of JSON.
// The others belong below: into setup, agent or deeper. Lines outside of functions
// and types, such as imports, do not count.
func TestVerbs(t *testing.T) {
	var list []verb
	for _, f := range files(t) {
		if f.dir != "cmd/rouse" || f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			if g, ok := d.(*ast.GenDecl); ok && (len(g.Specs) == 0 || g.Tok.String() == "import") {
				continue
			}
			list = append(list, verbOf(f, d))
		}
	}
	all, others := 0, 0
	var rest []string
	for _, v := range list {
		all += v.lines
		if !v.builds && !v.prints {
			others += v.lines
			rest = append(rest, fmt.Sprintf("%s: %d lines", v.at, v.lines))
		}
	}
	t.Logf("%d of %d lines of cmd/rouse, %d %%, neither build a command nor print", others, all, others*100/all)
	if others*100 > all*maxOthers {
		t.Errorf("more than %d %%; move what these do below:\n%s", maxOthers, strings.Join(rest, "\n"))
	}
}

// verb is a function or a declaration of cmd/rouse.
type verb struct {
	at             string
	lines          int
	builds, prints bool
}

func verbOf(f file, d ast.Decl) verb {
	v := verb{at: f.at(d.Pos()), lines: f.set.Position(d.End()).Line - f.set.Position(d.Pos()).Line + 1}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, _ := n.X.(*ast.Ident)
			switch {
			case x != nil && (x.Name == "cobra" || x.Name == "pflag"):
				v.builds = true
			case n.Sel.Name == "stdout" || n.Sel.Name == "stderr" || n.Sel.Name == "Stdout" || n.Sel.Name == "Stderr":
				v.prints = true
			}
		case *ast.Field:
			v.prints = v.prints || n.Tag != nil // a form that is printed as JSON
		case *ast.Ident:
			v.prints = v.prints || n.Name == "screen" || n.Name == "coded" || strings.HasPrefix(n.Name, "print") || strings.HasPrefix(n.Name, "Fprint")
		}
		return true
	})
	return v
}
