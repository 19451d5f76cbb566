package observation_test

import (
	"context"
	"testing"
	"time"

	"rouse/internal/proc"
	"rouse/internal/sweep"
	"rouse/scratchpad/observation"
	"rouse/scratchpad/observation/observationtest"
)

func TestStore(t *testing.T) {
	for codec, effort := range map[observation.Codec]observationtest.Effort{observation.Zstd: 2, observation.Raw: 1} {
		t.Run(string(codec), func(t *testing.T) {
			effort += sweep.Of[observationtest.Effort](0, 1, 4)
			if observation.RaceEnabled && !sweep.Full() {
				effort = 1 // the detector makes RE2 slow
			}
			observationtest.Run(t, effort, func(t *testing.T) observationtest.Store { return adapt(t, codec) })
		})
	}
}

// adapt makes a store of its own for one test.
func adapt(t testing.TB, codec observation.Codec) observationtest.Store {
	t.Helper()
	now := time.Now()
	s, err := observation.Open(t.TempDir(), observation.Options{Codec: codec, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	turns := map[string]*observation.Turn{}
	return observationtest.Store{
		Begin: func(id string) error {
			turns[id], err = s.Begin(id, proc.Self())
			return err
		},
		End: func(id string) error { return turns[id].End() },
		Put: func(id string, data []byte) (observation.Entry, error) {
			return observation.PutOddly(turns[id], data)
		},
		Get: func(turn, id string) (observationtest.Content, error) { return turns[turn].Get(id) },
		Keep: func(turn, id, label string, ttl time.Duration) error {
			return turns[turn].Keep(id, label, ttl)
		},
		Kept:    func(turn string) ([]observation.Entry, error) { return turns[turn].Kept() },
		Collect: func() (observation.Stats, error) { return s.GC(context.Background()) },
		Pass:    func(d time.Duration) { now = now.Add(d) },
	}
}
