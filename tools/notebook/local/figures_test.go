package local

import (
	"bytes"
	"image/png"
	"os/exec"
	"strings"
	"testing"

	nt "rouse/tools/notebook/notebooktest"
)

// with is a configuration whose Python has these modules, or the test is skipped.
func with(t *testing.T, modules string) Config {
	t.Helper()
	c := config(t)
	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(p, "-c", "import venv, ensurepip, "+modules).Run() == nil {
			c.Python = p
			return c
		}
	}
	t.Skipf("no python3 has %s", modules)
	return c
}

// TestFigures: what matplotlib draws comes as pictures, once, and is closed;
// data frames are shown and sampled.
func TestFigures(t *testing.T) {
	t.Parallel()
	c := with(t, "matplotlib, pandas")
	c.Limits.Default, c.Limits.Idle = 0, 0 // the first import takes its time
	c.Runner.Env = append(c.Runner.Env, "PATH="+nt.UV(t, "--system-site-packages"))
	r := reopen(t, c, t.TempDir())
	x := nt.Exec(t, r, "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.show()\nfig, ax = plt.subplots()\nax.bar([1], [2])\nfig")
	if len(x.Media) != 2 || !strings.HasPrefix(x.Value, "<Figure size") || x.Stderr != "" {
		t.Fatalf("%d pictures, value %q, stderr %q: %s", len(x.Media), x.Value, x.Stderr, x.Error)
	}
	for _, m := range x.Media {
		if image, err := png.Decode(bytes.NewReader(m.Data)); err != nil || m.Type != "image/png" || image.Bounds().Dx() < 100 {
			t.Errorf("%s: %v", m.Type, err)
		}
	}
	x = nt.Exec(t, r, "import pandas\ndf = pandas.DataFrame({'a': range(1000), 'b': 'x'})\nsample(df)")
	if len(x.Media) != 0 || !strings.HasPrefix(x.Value, "DataFrame, shape (1000, 2)\na     int64\n") || strings.Count(x.Value, "\n") > 20 {
		t.Errorf("%d pictures, value %q: %s", len(x.Media), x.Value, x.Error)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	nt.Want(t, nt.Exec(t, r, "int(df.a.sum())"), "499500")
}

// TestSample: a short look, whatever the value.
func TestSample(t *testing.T) {
	t.Parallel()
	r := open(t, config(t))
	for code, want := range map[string]string{
		"sample({'a': 1, 'b': [0] * 100})": "dict, 2 keys\n  'a': 1\n  'b': list of 100",
		"sample(range(1000), 2)":           "range, 1000 items\n  0\n  1\n  … 998 more",
		"sample({1})":                      "set, 1 items\n  1",
		"sample(7)":                        "int\n7",
		"sample('a\\nb')":                  "str, length 3\n'a\\nb'",
		"open('f.csv', 'w').write('a,b\\n1,2\\n3,4\\n'); sample('f.csv', 2)":    "f.csv, 12 bytes\n  a,b\n  1,2",
		"open('f.bin', 'wb').write(b'\\0\\1'); sample(open('f.bin', 'rb'))":     "f.bin, 2 bytes, binary\n  00 01…",
		"import array; sample(b'x' * 5000).startswith('bytes, length 5000\\n')": "True",
		"len(sample('y' * 10**8)) < 3000":                                       "True",
	} {
		nt.Want(t, nt.Exec(t, r, code), want)
	}
}
