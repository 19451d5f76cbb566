package setup

import (
	"context"

	"rouse/agent/replay"
)

// Replay runs a recorded cycle again.
func (s *Setup) Replay(ctx context.Context, cycle string) (replay.Replayed, error) {
	return replay.Run(ctx, s.Home, cycle, replay.Options{Redact: s.Hidden(), Demo: Demo()})
}
