package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"time"

	"rouse/agent"
	"rouse/agent/check"
	"rouse/internal/proc"
	"rouse/tools"
	"rouse/tools/command"
	"rouse/tools/web"
)

// checks are what must hold for what cycles do.
func (s *Setup) checks() agent.Checks {
	return agent.Checks{Standing: s.Config.Standing, World: s.world}
}

// world is what checks look at: commands between the walls of tools, where they cannot
// change the workspace, what read_file may read, and what http_get may reach. What the
// operator declares to be outside of the sandbox is bound by none of it.
func (s *Setup) world(began time.Time) (check.World, error) {
	walls, err := s.Walls()
	if err != nil {
		return check.World{}, err
	}
	c := s.Config.Tools
	exec := command.Exec{Runner: s.Runner(), Dir: s.Home.Folder(s.Config.Workspace), MaxOutput: int64(c.MaxOutput), Box: walls.Check()}
	folder, get := s.folder(), web.Options{Timeout: time.Hour, Allow: c.HTTP.Allow, Ports: c.HTTP.Ports, Redact: s.Hidden()}
	return check.World{
		Run: func(ctx context.Context, k check.Check, call tools.Call) error {
			if err := k.Unchanged(exec.Dir, walls.Writable()...); err != nil {
				return fmt.Errorf("%w: %w", check.ErrStuck, err)
			}
			return run(ctx, exec, k, call)
		},
		Open: func(path string, own bool) (*os.File, error) {
			if own {
				return folder.OpenAny(path)
			}
			return folder.Open(path)
		},
		Get: func(ctx context.Context, k check.Check, body io.Writer) (int, error) {
			o := get
			if k.Own {
				o.Allow = append(slices.Clone(o.Allow), hostOf(k.URL))
			}
			return fetch(ctx, o, k, body)
		},
		Redact: s.Hidden(), Began: began, Now: s.Now,
	}, nil
}

// run runs the command of a check.
func run(ctx context.Context, exec command.Exec, k check.Check, call tools.Call) error {
	if k.Own {
		exec.Box = nil
	}
	r := exec.Run(ctx, call, proc.Command{Argv: k.Argv, Timeout: k.Timeout})
	switch {
	case r.OK:
		return nil
	case r.Metadata == nil: // it was not even started
		return fmt.Errorf("%w: %s", check.ErrStuck, r.Error)
	}
	return errors.New(r.Error)
}

// fetch fetches an address as http_get does.
func fetch(ctx context.Context, o web.Options, k check.Check, body io.Writer) (status int, err error) {
	r := web.Fetch(ctx, o, tools.Call{Output: body, Hop: k.May}, k.URL)
	status, _ = r.Metadata["status"].(int)
	if !r.OK {
		err = errors.New(r.Error)
	}
	return status, err
}

// hostOf is the host of an address, with its port where it has one.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	if u.Port() == "" {
		return u.Hostname()
	}
	return net.JoinHostPort(u.Hostname(), u.Port())
}
