package config

import (
	"testing"
)

func TestSetCron(t *testing.T) {
	for _, tt := range []struct{ before, after, err string }{
		{"", "schedule:\n  - cron: '@daily'\n", ""},
		{"# all default", "# all default\nschedule:\n  - cron: '@daily'\n", ""},
		{"# schedule: []  # when\n\n# watch: []\n", "# schedule: []  # when\nschedule:\n  - cron: '@daily'\n\n# watch: []\n", ""},
		{"schedule: [] # when\nwatch: []\n", "schedule: '@daily' # when\nwatch: []\n", ""},
		{"schedule:\nwatch: []\n", "schedule: '@daily'\nwatch: []\n", ""},
		{"schedule: '*/5 * * * *' # often\n", "schedule: '@daily' # often\n", ""},
		{"schedule: \"*/5 * * * *\"\n", "schedule: '@daily'\n", ""},
		{"schedule:\n  - cron: 0 9 * * 1 # Mondays\n    task: look # around\n", "schedule:\n  - cron: '@daily' # Mondays\n    task: look # around\n", ""},
		{"schedule: [{cron: '@hourly', task: x}]\r\n", "schedule: [{cron: '@daily', task: x}]\r\n", ""},
		{"schedule: [{cron: @hourly, task: x}]\n", "", "rouse.yaml: found character that cannot start any token"},
		{"schedule: ['@hourly']\n", "schedule: ['@daily']\n", ""},
		{"schedule: ['@hourly', '@weekly']\n", "", "rouse.yaml has several entries under schedule: change the one you mean there"},
		{"schedule:\n  - cron: >-\n      @hourly\n", "", "rouse.yaml: the form of schedule: is too unusual to be changed here; write cron there yourself"},
		{"a: [\n", "", "rouse.yaml: line 1: did not find expected node content"},
	} {
		got, err := SetCron([]byte(tt.before), "@daily")
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%q: %v, want %s", tt.before, err, tt.err)
			}
			continue
		}
		if err != nil || string(got) != tt.after {
			t.Errorf("%q:\n got %q, %v\nwant %q", tt.before, got, err, tt.after)
		}
	}
}

func FuzzSetCron(f *testing.F) {
	f.Add("schedule: [{cron: '@hourly', task: x}] # y\n", "*/5 * * * *")
	f.Add("# schedule: []\n", "it's")
	f.Fuzz(func(t *testing.T, text, cron string) {
		got, err := SetCron([]byte(text), cron)
		if err != nil {
			return
		}
		again, err := SetCron(got, cron)
		if err != nil || string(again) != string(got) {
			t.Errorf("%q: twice is not once: %q, %v", text, again, err)
		}
	})
}
