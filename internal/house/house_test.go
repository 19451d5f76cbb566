package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"
)

// Ceilings, in lines.
const (
	maxFile     = 450
	maxFunction = 80
)

// rules says which of our packages each part of the tree may import. The longest
// prefix that fits a package holds. What stands below one may import its parent.
var rules = map[string][]string{
	"":                       {},
	"cmd/rouse":              {"", "desk", "page", "setup", "agent", "home", "journal", "proxy", "scratchpad", "tools", "internal"},
	"fleet":                  {"agent", "home", "scratchpad", "internal"},
	"fleet/share":            {"fleet", "agent", "home", "journal", "scratchpad", "internal"},
	"fleet/worker":           {"fleet", "setup", "agent", "home", "internal"},
	"fleet/cmd":              {"fleet", "page", "setup", "agent", "home", "scratchpad", "internal"},
	"desk":                   {"internal"},
	"page":                   {"setup", "agent", "home", "journal", "scratchpad", "internal"},
	"setup":                  {"", "agent", "dispatcher", "home", "journal", "proxy", "scratchpad", "tools", "internal"},
	"proxy":                  {"dispatcher", "journal", "scratchpad", "tools", "internal"},
	"agent":                  {"agent", "dispatcher", "home", "journal", "scratchpad", "tools", "internal"},
	"home":                   {"scratchpad", "internal"},
	"journal":                {"scratchpad", "internal"},
	"agent/model":            {"internal/jsonl"},
	"agent/config":           {"agent/budget", "agent/check", "agent/hook", "agent/notify", "agent/schedule", "dispatcher/policy", "tools/command", "internal/disk", "internal/egress", "internal/sandbox", "internal/yamlerror"},
	"agent/check":            {"tools", "internal"},
	"agent/schedule":         {"agent/check", "internal/disk", "internal/jsonl", "internal/proc"},
	"agent/budget":           {"agent/model", "home", "journal", "internal/disk", "internal/jsonl", "internal/proc", "internal/yamlerror"},
	"agent/notify":           {"journal", "agent/pause", "internal"},
	"agent/pause":            {"internal/disk"},
	"agent/made":             {"internal/disk"},
	"agent/history":          {"internal/disk", "internal/erase"},
	"agent/retention":        {"agent/history", "agent/made", "home", "journal", "scratchpad", "internal/disk"},
	"agent/trust":            {"home", "journal", "internal/disk", "internal/text"},
	"agent/conversation":     {"agent/model", "dispatcher", "tools", "internal/jsonl", "internal/redact"},
	"dispatcher/policy":      {"scratchpad/origin", "tools", "internal/netguard", "internal/object"},
	"dispatcher":             {"journal", "scratchpad", "tools", "internal"},
	"scratchpad":             {"internal/disk", "internal/object"},
	"scratchpad/observation": {"internal"},
	"tools":                  {"internal/disk", "internal/netguard", "internal/object", "internal/proc", "internal/redact", "internal/sandbox"},
	"tools/notebook":         {"tools", "internal"},
	"tools/mcp":              {"internal/disk", "internal/frame", "internal/proc", "internal/redact", "internal/sandbox"},
	"internal":               {},
	"internal/disk":          {},
	"internal/jsonl":         {"internal/disk"},
	"internal/mirror":        {"home", "internal/disk", "internal/jsonl"},
}

// only says which packages alone, divided by spaces, may import a library.
var only = map[string]string{
	"github.com/sashabaranov/go-openai":  "agent/model",
	"github.com/robfig/cron/v3":          "agent/schedule",
	"github.com/spf13/cobra":             "cmd/rouse",
	"github.com/jackc/pgx/v5":            "fleet/store",
	"go.temporal.io/sdk/client":          "fleet/flow",
	"go.temporal.io/sdk/workflow":        "fleet/flow",
	"go.temporal.io/sdk/worker":          "fleet/flow",
	"github.com/kaptinlin/jsonrepair":    "dispatcher",
	"github.com/aymanbagabas/go-udiff":   "cmd/rouse page",
	"os/exec":                            "internal/proc",
	"modernc.org/sqlite":                 "scratchpad/observation agent/search",
	"modernc.org/sqlite/lib":             "scratchpad/observation agent/search",
	"github.com/klauspost/compress/zstd": "scratchpad/observation agent/history",
	"github.com/wasilibs/go-re2":         "scratchpad/observation",
	"github.com/itchyny/gojq":            "scratchpad/observation",
	"filippo.io/age":                     "internal/vault",
	"html/template":                      "page setup/report internal/chart",
}

// file is one Go file of the project.
type file struct {
	path  string // from the root, with slashes
	dir   string
	lines int
	test  bool
	ast   *ast.File
	set   *token.FileSet
}

func (f file) at(p token.Pos) string {
	return f.path + ":" + strconv.Itoa(f.set.Position(p).Line)
}

// files are all of them.
func files(t *testing.T) []file {
	t.Helper()
	list, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 50 {
		t.Fatalf("only %d files found", len(list))
	}
	return list
}

var parsed = sync.OnceValues(func() (list []file, err error) {
	root := filepath.Join("..", "..")
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && rel != "." || rel == "workspace" || rel == "logs") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		f := file{path: filepath.ToSlash(rel), dir: filepath.ToSlash(filepath.Dir(rel)), set: token.NewFileSet()}
		f.dir = strings.TrimPrefix(f.dir, ".")
		f.test = strings.HasSuffix(path, "_test.go")
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f.lines = strings.Count(string(data), "\n")
		f.ast, err = parser.ParseFile(f.set, path, data, parser.ParseComments)
		list = append(list, f)
		return err
	})
	return list, err
})

// supports are packages made for tests, which may import testing.
func supports(dir string) bool {
	return strings.HasSuffix(dir, "test") || strings.HasPrefix(dir, "bench")
}

func TestImports(t *testing.T) {
	for _, f := range files(t) {
		for _, spec := range f.ast.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if user, ok := only[path]; ok && !f.test && !belowAny(f.dir, strings.Fields(user)) && !supports(f.dir) {
				t.Errorf("%s: only %s imports %s", f.at(spec.Pos()), user, path)
			}
			if path == "testing" && !f.test && !supports(f.dir) {
				t.Errorf("%s: code that ships imports testing", f.at(spec.Pos()))
			}
			ours, ok := strings.CutPrefix(path+"/", "rouse/")
			if ok && !f.test && !supports(f.dir) && !allowed(f.dir, strings.TrimSuffix(ours, "/")) {
				t.Errorf("%s: %s must not import %s", f.at(spec.Pos()), f.dir, path)
			}
		}
	}
}

// TestNothingRunsAtStart holds the packages to variables that are data: one that a
// call or a map makes gives its package an initialiser, which a program that cron
// starts every few minutes pays for in each start, in time and in 64 KiB of memory.
func TestNothingRunsAtStart(t *testing.T) {
	for _, f := range files(t) {
		for _, d := range f.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR || f.test || supports(f.dir) {
				continue
			}
			ast.Inspect(g, func(n ast.Node) bool {
				if runs(n) {
					t.Errorf("%s: make it when it is first used (an expression: lazy.Regexp), or as a list", f.at(n.Pos()))
				}
				_, function := n.(*ast.FuncLit)
				return !function
			})
		}
	}
}

// runs says whether a part of a variable's value is made by code: by a call, other than of
// those that the compiler carries out, or as a map.
func runs(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CompositeLit:
		_, is := n.Type.(*ast.MapType)
		return is && len(n.Elts) > 0
	case *ast.CallExpr:
		s, is := n.Fun.(*ast.SelectorExpr)
		return is && s.Sel.Name != "New" && s.Sel.Name != "RawMessage" // of errors and json
	}
	return false
}

// TestNames holds the names of a home's files to package home: who else uses one
// is handed a path. Words that name other things too are not held.
func TestNames(t *testing.T) {
	other := []string{"rouse", "open", "logs", "bin", "made", "proxy_", "workspace", "venv", "writable", "version", "tmp", "cache", "notebooks", "skills", ".git"}
	list := files(t)
	names := map[string]bool{}
	for _, f := range list {
		if f.dir == "home" && !f.test {
			for _, l := range literals(f) {
				name, _ := strconv.Unquote(l.Value)
				names[name] = !slices.Contains(other, name) && !strings.ContainsAny(name, " %/") && strings.ContainsFunc(name, unicode.IsLetter) || name == "STOP"
			}
		}
	}
	if !names["active.yaml"] || !names["_after.yaml"] || !names["STOP"] {
		t.Fatalf("the names are not found: %v", names)
	}
	for _, f := range list {
		if f.dir == "home" || f.test || supports(f.dir) {
			continue
		}
		for _, l := range literals(f) {
			text, _ := strconv.Unquote(l.Value)
			if i := strings.LastIndexByte(text, '/'); names[text[i+1:]] && !strings.Contains(text, " ") {
				t.Errorf("%s: only home knows the name %s", f.at(l.Pos()), text)
			}
		}
	}
}

// literals are the strings in the code of a file.
func literals(f file) (list []*ast.BasicLit) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.Field:
			return false // and no tags of fields
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				list = append(list, n)
			}
		}
		return true
	})
	return list
}

// allowed says whether one package may import another: its own parts and what it
// is a part of, and what the rules say.
func allowed(from, to string) bool {
	if from != "" && to != "" && (below(from, to) || below(to, from)) || slices.Contains([]string{"internal/clock", "internal/lazy", "internal/loopback", "internal/text"}, to) {
		return true
	}
	best := ""
	for prefix := range rules {
		if below(from, prefix) && len(prefix) > len(best) {
			best = prefix
		}
	}
	inside := best != "" && below(to, best)
	return inside || slices.ContainsFunc(rules[best], func(p string) bool { return to == p || p != "" && below(to, p) })
}

// below says whether a package is at or below another.
func below(dir, top string) bool { return top == "" || dir == top || strings.HasPrefix(dir, top+"/") }

func belowAny(dir string, tops []string) bool {
	return slices.ContainsFunc(tops, func(top string) bool { return below(dir, top) })
}

func TestComments(t *testing.T) {
	commented := map[string]bool{}
	dirs := map[string]string{}
	for _, f := range files(t) {
		if f.test {
			continue
		}
		dirs[f.dir] = f.path
		commented[f.dir] = commented[f.dir] || f.ast.Doc != nil
		for _, d := range f.ast.Decls {
			checkDoc(t, f, d)
		}
	}
	for dir, path := range dirs {
		if !commented[dir] {
			t.Errorf("%s: the package has no comment", path)
		}
	}
}

func checkDoc(t *testing.T, f file, d ast.Decl) {
	t.Helper()
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && !isStandard(d) {
			t.Errorf("%s: %s has no comment", f.at(d.Pos()), d.Name.Name)
		}
		if d.Recv == nil && d.Name.Name == "init" {
			t.Errorf("%s: no init", f.at(d.Pos()))
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
					t.Errorf("%s: %s has no comment", f.at(s.Pos()), s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
						t.Errorf("%s: %s has no comment", f.at(s.Pos()), n.Name)
					}
				}
			}
		}
	}
}

// isStandard says whether a method is one whose meaning its name says, or
// belongs to a type that is not exported.
func isStandard(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return false
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if id, ok := typ.(*ast.Ident); ok && !id.IsExported() {
		return true
	}
	return slices.Contains([]string{"Error", "Unwrap", "String"}, d.Name.Name)
}

func TestSizes(t *testing.T) {
	var fileLines, funcLines []int
	interfaces, methods := 0, 0
	for _, f := range files(t) {
		if f.lines > maxFile {
			t.Errorf("%s has %d lines, %d are allowed", f.path, f.lines, maxFile)
		}
		if f.test {
			continue
		}
		fileLines = append(fileLines, f.lines)
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				lines := f.set.Position(n.End()).Line - f.set.Position(n.Pos()).Line + 1
				funcLines = append(funcLines, lines)
				if lines > maxFunction {
					t.Errorf("%s: %s has %d lines, %d are allowed", f.at(n.Pos()), n.Name.Name, lines, maxFunction)
				}
			case *ast.InterfaceType:
				interfaces, methods = interfaces+1, methods+n.Methods.NumFields()
			}
			return true
		})
	}
	slices.Sort(fileLines)
	slices.Sort(funcLines)
	t.Logf("%d files: median %d lines, 95th percentile %d, longest %d", len(fileLines), at(fileLines, 50), at(fileLines, 95), at(fileLines, 100))
	t.Logf("%d functions: median %d lines, 95th percentile %d, longest %d", len(funcLines), at(funcLines, 50), at(funcLines, 95), at(funcLines, 100))
	t.Logf("%d interfaces with %d methods", interfaces, methods)
}

func at(sorted []int, percent int) int { return sorted[(len(sorted)-1)*percent/100] }

// TestNoKeys keeps what looks like a key out of the repository, examples included.
func TestNoKeys(t *testing.T) {
	key := regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{20,}|\bgh[pousr]_[A-Za-z0-9]{36}|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bAKIA[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{35}|-----BEGIN [A-Z ]*PRIVATE KEY-----`)
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "workspace" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if m := key.Find(data); m != nil {
			t.Errorf("%s holds what looks like a key: %.8s…", path, m)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
