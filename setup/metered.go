package setup

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"rouse/agent"
	"rouse/agent/approval"
	"rouse/agent/notify"
	"rouse/agent/pause"
	"rouse/agent/telemetry"
	"rouse/home"
	"rouse/internal/redact"
	"rouse/journal"
)

// Metrics are the figures of the home: what the cycles of the day came to, which m goes on
// counting, and how it stands.
func (s *Setup) Metrics(m *telemetry.Meter) (telemetry.Sums, error) {
	prices, err := s.Prices()
	if err != nil {
		return nil, err
	}
	m.Name, m.Currency = s.ModelName(), prices.Currency
	m.Cost = func(model string, u journal.Usage) (float64, bool) {
		price, ok := prices.Of(model)
		return float64(price.Cost(u)) / 1e9, ok
	}
	if err := m.Update(s.Home, s.Now()); err != nil {
		return nil, err
	}
	all := maps.Clone(m.Sums)
	return all, s.addGauges(all)
}

// addGauges says how the home stands.
func (s *Setup) addGauges(all telemetry.Sums) error {
	newest, err := agent.Summaries(s.Home, 2)
	for _, c := range newest {
		if c.Outcome != agent.Awake {
			all.Add(telemetry.Newest, float64(c.Began.UnixMilli()+c.Ms)/1000)
			all.Add(telemetry.Well, yes(c.Exit == 0 && c.Outcome != agent.Interrupted))
			break
		}
	}
	_, paused := pause.Paused(s.Home.Stop())
	all.Add(telemetry.Paused, yes(paused))
	calls, failed := s.Asked()
	if failed != nil {
		return failed
	}
	all.Add(telemetry.Waiting, 0)
	for _, c := range calls {
		all.Add(telemetry.Waiting, yes(c.State == approval.Open))
	}
	if len(s.Config.Schedule) == 0 || err != nil {
		return err
	}
	return s.addSlotGauges(all)
}

func (s *Setup) addSlotGauges(all telemetry.Sums) error {
	sum, err := s.Slots().Summary(s.Config.Schedule)
	if err != nil {
		return err
	}
	if !sum.Next.IsZero() {
		all.Add(telemetry.Next, float64(sum.Next.Unix()))
	}
	const day = 24 * time.Hour
	slots, err := s.Slots().Newest(int(day / time.Minute))
	for _, r := range slots {
		if began, err := time.ParseInLocation(home.CycleForm, r.Cycle, time.Local); err == nil {
			delete(all, string(telemetry.Lateness)) // that of an earlier one
			all.Add(telemetry.Lateness, max(0, began.Sub(r.Slot).Seconds()))
		}
		if s.Now().Sub(r.Slot) < day {
			all.Add(telemetry.SlotsOver, float64(r.N()), telemetry.Status, string(r.Status))
		}
	}
	return err
}

// exporting sends what cycles did to the collector, nil where there is none.
func (s *Setup) exporting(hide *redact.Redactor) func() {
	c := s.Config.Telemetry
	if c.OTLP == "" {
		return nil
	}
	e := &telemetry.Exporter{
		Home: s.Home, URL: c.OTLP, Headers: s.Getenv(c.HeadersEnv), Content: c.Content, Name: filepath.Base(s.Home.Dir), Model: s.ModelName(), Provider: "openai", Timeout: time.Duration(c.Timeout), Version: s.Version,
		Hide: hide.String, Now: s.Now, Sums: s.Metrics,
		Incident: func(key, text string) {
			n := s.notifier(hide)
			_ = n.Tell(context.Background(), notify.Waiting, key, text)
			telling{n}.deliver()
		},
	}
	if m := s.Config.Model; m.API == "messages" || strings.Contains(m.BaseURL, "anthropic") {
		e.Provider = "anthropic"
	}
	return e.Export
}

// Unsent says why monitoring elsewhere does not know yet what cycles did.
func (s *Setup) Unsent() error {
	if s.Config.Telemetry.OTLP == "" {
		return nil
	}
	if state := telemetry.ReadState(s.Home); state.Error != "" {
		return fmt.Errorf("telemetry waits: %s; see telemetry.otlp and $%s", state.Error, s.Config.Telemetry.HeadersEnv)
	}
	return nil
}

func yes(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
