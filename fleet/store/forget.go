package store

import "context"

// Forget takes out what the cycles of older epochs mirrored, but for some files: nothing that
// they did is to be known, as they come again.
func (s *Store) Forget(ctx context.Context, l Lease, but ...string) error {
	return s.guarded(ctx, held+`, gone as (delete from rouse.lines l using held where l.home = held.id and l.epoch < $2 and l.path <> all($3))
		update rouse.homes h set deadline = h.deadline from held where h.id = held.id`, l.Home, l.Epoch, but)
}
