//go:build !race

package page

import (
	"bytes"
	"context"
	"fmt"
	images "image"
	"image/color"
	"image/draw"
	pngs "image/png"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	pages "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"rouse/agent/approval"
	"rouse/internal/proc"
	"rouse/internal/sweep"
	"rouse/setup"
	"rouse/setup/report/weektest"
)

// tab is one of a real browser, which has logged in.
type tab struct {
	*rig
	ctx context.Context
	mu  sync.Mutex
	bad []string // what no page of ours does, since the page was asked for
}

// browse opens a tab for those who may act on the homes in a folder, at the end of a bad week.
func browse(t *testing.T, folder string, now func() time.Time) *tab {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium here: apt-get install chromium")
	}
	b := &tab{rig: serveAt(t, folder, Act, now)}
	ctx, stop := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WSURLReadTimeout(time.Minute), chromedp.Flag("no-proxy-server", true), chromedp.Flag("js-flags", "--expose-gc"), chromedp.Flag("enable-precise-memory-info", true))...)
	t.Cleanup(stop)
	b.ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	must(t, chromedp.Listen(b.ctx, b.event))
	_, err = chromedp.Call(b.ctx, network.Enable, network.EnableParams{})
	must(t, err)
	b.open(b.Link(Act))
	return b
}

// event hears what the browser does.
func (b *tab) event(e any) {
	said := ""
	switch e := e.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.URL+"/") {
			said = "asks for " + e.Request.URL
		}
	case *pages.EventJavascriptDialogOpening:
		said = "dialog " + e.Message
	}
	if said != "" {
		b.mu.Lock()
		b.bad = append(b.bad, said)
		b.mu.Unlock()
	}
}

// open shows a page, which is there and says nothing on the console.
func (b *tab) open(path string) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, time.Minute)
	defer stop()
	console := chromedp.Console(ctx)
	res, err := chromedp.Run(ctx, chromedp.NavigateResponse(b.URL+path))
	if err != nil {
		b.t.Fatalf("%s: %v", path, err)
	}
	if res.Status != http.StatusOK {
		b.t.Errorf("%s: %v", path, res.Status)
	}
	_ = eval[int](b, "1") // what was said until now has been heard
	stop()
	for m, err := range console {
		if err == nil && m.Type != "debug" {
			b.t.Errorf("%s: the console says %s", path, m)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.bad {
		b.t.Errorf("%s: %s", path, s)
	}
	b.bad = nil
}

// eval is what a script in the page comes to.
func eval[T any](b *tab, script string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%.100s: %v", script, err)
	}
	return v
}

// await waits until that is so in the page, which may be another one by then.
func (b *tab) await(so string) {
	b.t.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("document.readyState == 'complete' && !!("+so+")")); ok {
			return
		} else if time.Now().After(until) {
			b.t.Fatal(so, err)
		}
	}
}

// look is how a page is seen.
type look struct {
	scheme string
	width  int64
}

func (b *tab) see(l look) {
	b.t.Helper()
	must(b.t, chromedp.Do(b.ctx, chromedp.EmulateViewport(l.width, l.width*2/3)))
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
	must(b.t, err)
}

// walk opens pages from a path on, by their links: so many of each route. Seen are the paths by their routes.
func (b *tab) walk(most int, seen map[string][]string, from string, each func(path string)) {
	b.t.Helper()
	routes := http.NewServeMux()
	for pattern := range looks() {
		routes.Handle(pattern, http.NotFoundHandler())
	}
	for paths := []string{from}; len(paths) > 0; paths = paths[1:] {
		_, route := routes.Handler(httptest.NewRequest(http.MethodGet, paths[0], nil))
		if route == "" || leaves[route] || len(seen[route]) == most || slices.Contains(seen[route], paths[0]) {
			continue
		}
		seen[route] = append(seen[route], paths[0])
		b.open(paths[0])
		paths = append(paths, eval[[]string](b, `[...document.querySelectorAll('a[href]')].map(e => e.pathname + e.search)`)...)
		each(paths[0])
	}
}

// leaves are the routes that are no page of ours: streams, pictures and files.
var leaves = map[string]bool{
	"/h/{home}/observations/{id}/picture": true, "/h/{home}/observations/{id}/file": true, "/h/{home}/cycles/{cycle}/events": true,
	"/h/{home}/cycles/{cycle}/requests/{request}/body": true, "/h/{home}/notebooks/{name}/{cell}/picture/{n}": true, "/h/{home}/notebooks/{name}/{cell}/table": true,
}

// wide skips what takes a browser long.
func wide(t *testing.T) {
	t.Helper()
	if sweep.Of(true, false, false) {
		t.Skip("a browser takes many seconds for it: ROUSE_SWEEP=wide")
	}
}

// TestBrowser shows every page to a real browser, in both schemes and two widths: nothing is wider than the
// window, and axe finds nothing that people could not see, hear or reach.
func TestBrowser(t *testing.T) {
	t.Parallel()
	wide(t)
	axe, err := os.ReadFile(filepath.Join("..", "tools", "mcp", "testdata", "npm", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Skip("axe is not installed: run npm ci --ignore-scripts in tools/mcp/testdata/npm")
	}
	folder := t.TempDir()
	weektest.Lay(t, folder)
	hosted(t, folder, "wild", wild)
	b := browse(t, folder, weektest.Now)
	pictures := os.Getenv("ROUSE_PICTURES") // a folder for them
	sees := []look{{"dark", 360}, {"light", 1280}, {"light", 360}, {"dark", 1280}}[:sweep.Of(1, 2, 4)]
	seen, n := map[string][]string{}, 0
	check := func(path string) {
		eval[int](b, "document.querySelectorAll('details').forEach(d => d.open = true), 1")
		eval[int](b, string(axe)+";1")
		for _, l := range sees {
			b.see(l)
			for _, found := range eval[[]string](b, `axe.run({iframes: false, runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice']}).then(r => [
				...document.documentElement.scrollWidth > innerWidth ? ['is wider than the window: ' + [...document.querySelectorAll('main *')].filter(e => e.scrollWidth > innerWidth && !e.closest('.wide, pre')).reverse().slice(0, 3).map(e => e.outerHTML.slice(0, 200)).join(' | ')] : [],
				...r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200)).join(' | '))])`) {
				t.Errorf("%s, %s, %d: %s", path, l.scheme, l.width, found)
			}
			if n++; pictures != "" {
				b.picture(filepath.Join(pictures, fmt.Sprintf("%s-%s-%d.png", strings.ReplaceAll(strings.Trim(path, "/"), "/", "_"), l.scheme, l.width)), chromedp.FullScreenshot(100))
			}
		}
	}
	b.walk(1, seen, "/h/"+weektest.Press+"?since=7d", check)
	b.walk(1, seen, "/h/wild/notebooks/sales", check) // there is none in that week
	for _, path := range []string{"/login", "/h/press/cycles/20261116_220100", "/h/press/cycles/20261118_060100", "/h/wild/cycles/" + told} {
		b.open(path)
		check(path)
	}
	for route := range looks() {
		if seen[route] == nil && !leaves[route] {
			t.Errorf("no page leads to %s", route)
		}
	}
	t.Logf("%d pages, seen %d times", len(seen), n)
}

// picture puts down what is seen, small by few colours.
func (b *tab) picture(name string, take chromedp.Action[[]byte]) (size int) {
	b.t.Helper()
	data, err := chromedp.Run(b.ctx, take)
	must(b.t, err)
	full, err := pngs.Decode(bytes.NewReader(data))
	must(b.t, err)
	often, box := map[color.Color]int{}, full.Bounds()
	for i := range box.Dx() * box.Dy() {
		often[full.At(i%box.Dx(), i/box.Dx())]++
	}
	colours := slices.SortedFunc(maps.Keys(often), func(a, b color.Color) int { return often[b] - often[a] })
	small := images.NewPaletted(box, colours[:min(len(colours), 64)])
	draw.Draw(small, box, full, images.Point{}, draw.Src)
	var out bytes.Buffer
	must(b.t, (&pngs.Encoder{CompressionLevel: pngs.BestCompression}).Encode(&out, small))
	must(b.t, os.WriteFile(name, out.Bytes(), 0o644))
	return out.Len()
}

// TestPicture makes that of docs where $ROUSE_PICTURE says.
func TestPicture(t *testing.T) {
	name := os.Getenv("ROUSE_PICTURE")
	if name == "" {
		t.Skip("to make it: ROUSE_PICTURE=../docs/page.png go test -run TestPicture ./page")
	}
	folder := t.TempDir()
	weektest.Lay(t, folder)
	b := browse(t, folder, weektest.Now)
	b.see(look{"light", 1280})
	b.open("/h/press?since=7d")
	eval[int](b, "document.querySelector('main .quiet').textContent = '/home/you/agents/press', 1") // wherever the test has it
	if size := b.picture(name, chromedp.CaptureScreenshot()); size > 60_000 {
		t.Errorf("%d bytes", size)
	}
}

// TestKeys reaches a call that waits, and approves it, by keys alone. What has the focus is seen.
func TestKeys(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	hosted(t, folder, "agent", wild)
	b := browse(t, folder, weektest.Now)
	b.see(look{"dark", 360})
	to := func(want string) {
		t.Helper()
		for range 100 {
			must(t, chromedp.Do(b.ctx, chromedp.KeyEvent("\t")))
			at := eval[[]string](b, `(e => [e.getAttribute('href') ?? e.textContent.trim(), getComputedStyle(e).outlineStyle, e.getBoundingClientRect().width && 'seen'])(document.activeElement)`)
			if at[1] == "none" || at[2] != "seen" {
				t.Errorf("%q has the focus, and looks like it does not", at)
			}
			if at[0] == want {
				return
			}
		}
		t.Fatalf("no key leads to %s", want)
	}
	enter := func(then string) {
		t.Helper()
		must(t, chromedp.Do(b.ctx, chromedp.KeyEvent("\r")))
		b.await(then)
	}
	to("#main")
	enter(`document.activeElement.id == 'main'`)
	b.open("/")
	to("/")
	to("/h/agent")
	enter(`location.pathname == '/h/agent'`)
	to("#main")
	to("/h/agent/approvals")
	enter(`location.pathname == '/h/agent/approvals'`)
	s, err := openAt(filepath.Join(folder, "agent"), weektest.Now)
	must(t, err)
	if err := s.Answers(); err != nil {
		t.Skip(err)
	}
	to("Approve")
	enter(`document.querySelector('.said')`)
	if list, err := s.Asked(); err != nil || !slices.ContainsFunc(list, func(a setup.Approval) bool { return a.Decision == approval.Approve }) {
		t.Errorf("%+v %v", list, err)
	}
}

// TestInert: what an agent writes is text on every page, and adds no element to it, whatever field it is in.
func TestInert(t *testing.T) {
	t.Parallel()
	wide(t)
	hit := make(chan string, 100)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { hit <- r.URL.Path }))
	defer elsewhere.Close()
	folder := t.TempDir()
	hosted(t, folder, "tame", "good words")
	hosted(t, folder, "wild", strings.ReplaceAll(wild, "https://evil.example", elsewhere.URL))
	b := browse(t, folder, weektest.Now)
	elements := map[string]map[string]int{}
	hidden := 0
	look := func(path string) {
		if strings.HasPrefix(path, "/h/") {
			elements[path] = eval[map[string]int](b, `[...document.querySelectorAll('*')].filter(e => !/^(li|p|code|div|span|pre|dd|dt|br|td|tr|h3|time)$/.test(e.localName)).reduce((n, e) => (n[e.localName] = (n[e.localName] ?? 0) + 1, n), {})`)
		}
		for _, wrong := range eval[[]string](b, `[
			...'ran' in window ? ['a script ran'] : [],
			...document.querySelectorAll('.evil, [onerror], [onload], [onclick], [style], base, object, embed') .values().map(e => e.outerHTML.slice(0, 200)),
			...document.querySelectorAll('[href], [src], [action], [data-live]').values().filter(e => new URL(e.getAttribute('href') ?? e.getAttribute('src') ?? e.getAttribute('action') ?? e.dataset.live, location).origin != origin || (e.href + '').startsWith('javascript')).map(e => e.outerHTML.slice(0, 200)),
			...([...document.querySelectorAll('textarea')].reduce((s, e) => s.replace(e.textContent, ''), document.body.textContent).match(/[\u202a-\u202e\u2066-\u2069\u200b-\u200f\ufeff\x00-\x08\x0b-\x1f\x7f]/g) ?? []).map(c => 'hidden character ' + c.charCodeAt(0).toString(16))]`) {
			t.Errorf("%s: %s", path, wrong)
		}
		if strings.Contains(eval[string](b, "document.body.textContent"), `\u202egnp`) {
			hidden++
		}
	}
	for _, name := range []string{"tame", "wild"} {
		seen := map[string][]string{}
		for _, path := range []string{"?since=365d", "/cycles/" + told, "/observations", "/notebooks", "/approvals", "/acts"} {
			b.walk(3, seen, "/h/"+name+path, look)
		}
	}
	for path, n := range elements {
		if tame, ok := strings.CutPrefix(path, "/h/wild"); ok {
			if want := elements["/h/tame"+tame]; want != nil && !maps.Equal(n, want) {
				t.Errorf("%s has %v, and with good words %v", path, n, want)
			}
		}
	}
	must(t, chromedp.Do(b.ctx, chromedp.Navigate(b.URL+"/h/wild/notebooks/sales/1/table"))) // by itself, without the page
	if eval[bool](b, "'ran' in window") || eval[int](b, "document.querySelectorAll('.evil').length") == 0 {
		t.Error("a table ran a script, or is none")
	}
	b.mu.Lock()
	b.bad = nil // what it wanted and its policy kept from it
	b.mu.Unlock()
	b.open("/")
	select {
	case path := <-hit:
		t.Errorf("a browser was led to %s", path)
	default:
	}
	if hidden < 10 {
		t.Errorf("%d pages show what would hide: %s", hidden, slices.Sorted(maps.Keys(elements)))
	}
}

// TestGrowth: the page of a cycle that goes on and on has its newest rows, and grows no more.
func TestGrowth(t *testing.T) {
	t.Parallel()
	folder, add := tale(t, proc.Self())
	b := browse(t, folder, time.Now)
	b.open(cyclePath)
	written := 0
	heap := func(events int) int {
		for ; written < events; written += 4 {
			add(call(written/4+1, fmt.Sprintf("call %d.", written+4), "x")...)
		}
		b.await(fmt.Sprintf("document.querySelector('tbody').textContent.includes('call %d.')", events))
		if rows := eval[int](b, "document.querySelectorAll('tbody tr').length"); rows != 500 {
			t.Errorf("%d rows after %d events", rows, events)
		}
		return eval[int](b, "gc(), performance.memory.usedJSHeapSize")
	}
	most := sweep.Of(2000, 10_000, 10_000)
	few, many := heap(1000), heap(most)
	if many > few*3/2 {
		t.Errorf("%d bytes of heap after 1000 events, %d after %d", few, many, most)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func quoted(v any) string { return string(raw(v)) }

// plain is JSON that is YAML too: nothing in it hides.
func plain(v any) string {
	var s strings.Builder
	for _, r := range quoted(v) {
		if r < 0x7f {
			s.WriteRune(r)
		} else {
			fmt.Fprintf(&s, `\u%04x`, r)
		}
	}
	return s.String()
}
