package setup

import (
	"slices"
	"strings"
	"sync"

	"rouse/agent/config"
	"rouse/agent/source"
	"rouse/home"
	"rouse/internal/sandbox"
	origins "rouse/scratchpad/origin"
)

// newSources says where the results of tools come from: nil in a home without a posture.
func (s *Setup) newSources() *source.Sources {
	c := s.Config
	if c.Posture == config.NoPosture {
		return nil
	}
	walls, _ := s.Walls() // who starts anything has looked at the error
	n := &source.Sources{Process: walls.unwatched()}
	n.Path, n.Unwatched = s.Home.Origins(), n.Process.Private()
	n.Places = sync.OnceValue(func() source.Places { return s.sourcePlaces(walls) })
	if len(c.Notebook.Credentials) > 0 {
		n.Cells = n.Cells.With(origins.Private)
	}
	if c.Notebook.Backend == "remote" || c.Notebook.Search != "" || strings.Contains(c.Model.Name, "search") {
		n.Cells = n.Cells.With("network")
	}
	return n
}

func (s *Setup) sourcePlaces(walls *Walls) source.Places {
	c := s.Config
	p := source.Places{Notebooks: home.Resolved(s.Home.Notebooks()), Workspace: home.Resolved(s.Home.Folder(c.Workspace))}
	for _, path := range c.Origins.Outside {
		p.Folders = append(p.Folders, source.Folder{Path: home.Resolved(c.Path(path)), Origin: "file " + path})
	}
	for _, path := range c.Origins.Private {
		p.Folders = append(p.Folders, source.Folder{Path: home.Resolved(c.Path(path)), Origin: origins.Private})
	}
	for _, path := range slices.Concat(walls.Writable(), c.Tools.Files.Roots) {
		if path = home.Resolved(s.Home.Folder(path)); path != p.Workspace {
			p.Beyond = append(p.Beyond, path)
		}
	}
	return p
}

// unwatched is what any process of tools could have read: texts of hosts that nobody
// names, and what is private, which is all but the folders of programs and those that
// they write.
func (w *Walls) unwatched() (from origins.Set) {
	open := w == nil || w.box == nil || w.UnixSockets && !w.System.Mounts()
	if open || w.Network == sandbox.Open {
		from = from.With("network")
	}
	if open || w.Read != config.ReadSystem || len(w.Folders) > 0 {
		from = from.With(origins.Private)
	}
	return from
}
