package config

import "testing"

func TestSetRemote(t *testing.T) {
	const block = "notebook:\n  backend: 'remote'\n  endpoint: 'https://a.example'\n  token_env: 'NB_TOKEN'\n"
	const odd = "rouse.yaml: the form of notebook: is too unusual to be changed here; write backend, endpoint and token_env there yourself"
	for _, tt := range []struct{ before, after, err string }{
		{"", block, ""},
		{"# all default", "# all default\n" + block, ""},
		{"# notebook:\n#   idle: 30s\n\n# secrets: []\n", "# notebook:\n#   idle: 30s\n" + block + "\n# secrets: []\n", ""},
		{"notebook:\nsecrets: []\n", "notebook: {backend: 'remote', endpoint: 'https://a.example', token_env: 'NB_TOKEN'}\nsecrets: []\n", ""},
		{"notebook: {} # none\n", "notebook: {backend: 'remote', endpoint: 'https://a.example', token_env: 'NB_TOKEN'} # none\n", ""},
		{"notebook: {idle: 10s, backend: local}\n", "notebook: {endpoint: 'https://a.example', token_env: 'NB_TOKEN', idle: 10s, backend: 'remote'}\n", ""},
		{"notebook:\n  # how long\n  idle: 10s # short\n  backend: local # here\n",
			"notebook:\n  # how long\n  endpoint: 'https://a.example'\n  token_env: 'NB_TOKEN'\n  idle: 10s # short\n  backend: 'remote' # here\n", ""},
		{"notebook:\n  backend: remote\n  endpoint: \"http://127.0.0.1:1\" # old\n  token_env: OTHER\n",
			"notebook:\n  backend: 'remote'\n  endpoint: 'https://a.example' # old\n  token_env: 'NB_TOKEN'\n", ""},
		{"notebook: 3\n", "", "rouse.yaml: line 1: `3` where a mapping is wanted"},
		{"noteboook: 3\n", "", "rouse.yaml: line 1: unknown key \"noteboook\""},
		{"notebook: &a {idle: 10s}\n", "", odd},
		{"notebook:\n  endpoint: >-\n    x\n", "", odd},
		{"a: [\n", "", "rouse.yaml: line 1: did not find expected node content"},
	} {
		got, err := SetRemote([]byte(tt.before), "https://a.example", "NB_TOKEN")
		edited(t, tt.before, got, err, tt.after, tt.err)
	}
}

// edited wants what an edit gave to be after, or its error to be that text.
func edited(t *testing.T, before string, got []byte, err error, after, failed string) {
	t.Helper()
	if failed != "" {
		if err == nil || err.Error() != failed {
			t.Errorf("%q: %q, %v, want %s", before, got, err, failed)
		}
	} else if err != nil || string(got) != after {
		t.Errorf("%q:\n got %q, %v\nwant %q", before, got, err, after)
	}
}

func FuzzSetRemote(f *testing.F) {
	f.Add("notebook: {idle: 10s} # y\n", "https://a.example")
	f.Add("# notebook:\n#  x\nnotebook:\n  idle: 1s\n", "http://127.0.0.1:1/x")
	f.Fuzz(func(t *testing.T, text, endpoint string) {
		got, err := SetRemote([]byte(text), endpoint, "NB_TOKEN")
		if err != nil {
			return
		}
		again, err := SetRemote(got, endpoint, "NB_TOKEN")
		if err != nil || string(again) != string(got) {
			t.Errorf("%q: twice is not once: %q, %v", text, again, err)
		}
	})
}
