package install

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"rouse/agent/config"
	"rouse/agent/schedule"
	"rouse/home"
	"rouse/internal/vault"
	"rouse/setup"
	"slices"
)

// WithSpec is rouse.yaml with the specification, nil if it need not change, and
// the schedule that it then has.
func WithSpec(s *setup.Setup, args []string) ([]byte, schedule.List, error) {
	conf := s.Config
	if len(args) == 0 {
		if len(conf.Schedule) == 0 {
			return nil, nil, errors.New("rouse.yaml has no schedule; say when, as in: rouse install '*/15 * * * *'")
		}
		return nil, conf.Schedule, nil
	}
	e, err := schedule.New(args[0])
	if err != nil {
		return nil, nil, err
	}
	if len(conf.Schedule) == 1 && conf.Schedule[0].Cron == e.Cron {
		return nil, conf.Schedule, nil
	}
	old, err := os.ReadFile(s.Home.Config())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	text, err := config.SetCron(old, e.Cron)
	if err != nil {
		return nil, nil, err
	}
	if len(conf.Schedule) == 1 { // its other keys stay
		entry, err := conf.Schedule[0].With(e.Cron)
		return text, schedule.List{entry}, err
	}
	return text, schedule.List{e}, nil
}

// CheckSchedule refuses what could not work while nobody looks.
func CheckSchedule(via string, entries schedule.List) error {
	if !slices.Contains([]string{"cron", "systemd", "launchd"}, via) {
		return fmt.Errorf("--via %s: use cron, systemd or launchd", via)
	}
	for _, e := range entries {
		if e.Seconds() {
			return fmt.Errorf("%q wants slots within a minute, and %s looks once a minute; run rouse schedule as a service instead", e.Cron, via)
		}
	}
	return nil
}

// CheckAlone sees to it that .env is fit to hold keys, and that the model is one
// even without this terminal's environment.
func CheckAlone(h home.Home, d *setup.Dotenv) error {
	if err := cmp.Or(d.Err, vault.CheckEnv(h.Env())); err != nil {
		return err
	}
	env := map[string]string{}
	for _, v := range d.All {
		env[v.Name] = v.Value
	}
	anything := func(name string) string { // a key, whatever its name
		if name == "OPENAI_BASE_URL" {
			return ""
		}
		return "set"
	}
	meant, err := config.Load(h.Config(), anything)
	if err != nil || meant.Model.Provider == "offline" {
		return err
	}
	bare, err := config.Load(h.Config(), func(name string) string { return env[name] })
	if err != nil {
		return err
	}
	if bare.Model.BaseURL == "" && env[bare.Model.APIKeyEnv] == "" {
		return fmt.Errorf("without this terminal's environment the model has neither key nor address: write model.base_url into rouse.yaml, "+
			"or %s=… into %s (mode 0600), or set model.provider: offline", bare.Model.APIKeyEnv, h.Env())
	}
	for i, f := range bare.Model.Fallback {
		if f.APIKeyEnv != "" && env[f.APIKeyEnv] == "" {
			return fmt.Errorf("without this terminal's environment model.fallback[%d], %s, has no key: write %s=… into %s (mode 0600)", i, f.Name, f.APIKeyEnv, h.Env())
		}
	}
	return nil
}
