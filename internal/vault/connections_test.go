package vault

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSet(t *testing.T) {
	for _, tt := range []struct{ name, field, value, err string }{
		{"postgres/PROD_DB", "host", "db", ""},
		{"s3/a.b-c", "access-key", "x", ""},
		{"postgres", "host", "db", "use engine/NAME"},
		{"../x", "host", "db", "use engine/NAME"},
		{"a/b/c", "host", "db", "use engine/NAME"},
		{"a/B", "ho st", "secret-value", `field "ho st"`},
		{"a/B", "", "secret-value", "field"},
		{"a/B", "host", "", "field host is empty"},
		{"a/B", "host", "secret-value\x00", "not text"},
		{"a/B", "host", "secret-value\xff", "not text"},
		{"a/B", "host", strings.Repeat("secret-value", 6000), "more than 65536 bytes"},
		{"mine/prod-db", "host", "x", "mine/prod-db host and mine/prod_db host would both be the variable DS_MINE_PROD_DB__HOST"},
		{"mine/prod_db", "HOST", "x", "would both be"},
	} {
		c := Connections{"mine/prod_db": {"host": "a"}}
		err := c.Set(tt.name, map[string]string{tt.field: tt.value})
		if tt.err == "" {
			if err != nil || c[tt.name][tt.field] != tt.value {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "secret-value") {
			t.Errorf("%s %s: %v, want %q", tt.name, tt.field, err, tt.err)
		}
		if diff := cmp.Diff(Connections{"mine/prod_db": {"host": "a"}}, c); diff != "" {
			t.Errorf("changed all the same: %s", diff)
		}
	}
}

func TestGrant(t *testing.T) {
	c := Connections{
		"postgres/PROD_DB": {"host": "db", "password": "p"},
		"postgres/PROD":    {"host": "other"},
		"s3/eu-1":          {"access.key": "k"},
	}
	env, err := parseEnv("DS_POSTGRES_PROD_DB__HOST=from-env\nDS_MYSQL_X__DSN=d\nOTHER=x\n")
	if err != nil {
		t.Fatal(err)
	}
	all := append(c.Variables(), env...)
	for _, tt := range []struct {
		names []string
		want  []string
		err   string
	}{
		{nil, nil, ""},
		{[]string{"postgres/PROD_DB"}, []string{"DS_POSTGRES_PROD_DB__HOST=db", "DS_POSTGRES_PROD_DB__PASSWORD=p"}, ""},
		{[]string{"postgres/PROD"}, []string{"DS_POSTGRES_PROD__HOST=other"}, ""},
		{[]string{"mysql/X", "s3/eu-1", "s3/eu-1"}, []string{"DS_MYSQL_X__DSN=d", "DS_S3_EU_1__ACCESS_KEY=k"}, ""},
		{[]string{"s3/eu-2"}, nil, "there is no connection s3/eu-2"},
		{[]string{"s3"}, nil, "use engine/NAME"},
	} {
		got, err := Grant(all, tt.names)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%v: %v, want %q", tt.names, err, tt.err)
			}
			continue
		}
		if diff := cmp.Diff(tt.want, Environ(got)); diff != "" || err != nil {
			t.Errorf("%v: %v %s", tt.names, err, diff)
		}
	}
}

func TestSecrets(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		want        []string
	}{
		{"DS_A_B__HOST", "db.example", nil},
		{"DS_A_B__PASSWORD", "p", []string{"p"}},
		{"DS_A_B__API_KEY", "k", []string{"k"}},
		{"DS_A_B__MONKEY", "m", nil},
		{"DS_A_B__TOKEN", "t", []string{"t"}},
		{"DS_A_B__DSN", "postgres://u:in%2Fner@h/db", []string{"postgres://u:in%2Fner@h/db", "in/ner"}},
		{"DS_A_B__URL", "postgres://u:inner@h/db", []string{"inner"}},
		{"DS_A_B__URL", "postgres://h/db", nil},
		{"DS_A_B__DSN", "host=h password='in\\'ner' user=u", []string{"host=h password='in\\'ner' user=u", "in'ner"}},
		{"DS_A_B__CONNECTION", "Server=h;Password=inner;Uid=u", []string{"inner"}},
	} {
		hidden := Secrets([]Variable{{tt.name, tt.value}})
		var got []string
		for _, name := range slices.Sorted(maps.Keys(hidden)) {
			got = append(got, hidden[name])
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s=%s: %s", tt.name, tt.value, diff)
		}
	}
}

func TestParseEnv(t *testing.T) {
	const text = "\uFEFF# comment\r\n\nA=1\r\nexport B = two words # remark\nC='# $x \\n'\nD=\"a\\nb \\\"c\\\" \\\\n\" # remark\nE=\nF=a#b\nA=2\n"
	got, err := parseEnv(text)
	want := []Variable{{"A", "2"}, {"B", "two words"}, {"C", "# $x \\n"}, {"D", "a\nb \"c\" \\n"}, {"E", ""}, {"F", "a#b"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	for text, want := range map[string]string{
		"A=1\nsecret-value":    "line 2 is not NAME=value",
		"A='secret-value":      "line 1: the quotes of A do not end",
		"A=\"secret-value\\\"": "line 1: the quotes of A do not end",
		"A=\xff":               "not text in UTF-8",
		"1A=secret-value":      "line 1 is not NAME=value",
	} {
		if _, err := parseEnv(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzParseEnv: whatever is written in double quotes is read back.
func FuzzParseEnv(f *testing.F) {
	f.Add("A=1\nexport B='x' # y", "va\"l\\ue\n$")
	f.Fuzz(func(t *testing.T, text, value string) {
		_, _ = parseEnv(text)
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "$", `\$`).Replace(value)
		list, err := parseEnv("X=\"" + quoted + "\"")
		if err == nil && (len(list) != 1 || list[0].Value != value) {
			t.Errorf("%q came back as %q", value, list)
		}
	})
}
