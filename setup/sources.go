package setup

import (
	"slices"
	"sync"

	"rouse/agent/config"
	"rouse/agent/source"
	"rouse/home"
	"rouse/internal/sandbox"
)

// newSources says where the results of tools come from: nil in a home without a posture.
func (s *Setup) newSources() *source.Sources {
	c := s.Config
	if c.Posture == config.NoPosture {
		return nil
	}
	walls, _ := s.Walls() // who starts anything has looked at the error
	n := &source.Sources{Granted: len(c.Notebook.Credentials) > 0, Remote: c.Notebook.Backend == "remote"}
	n.Open, n.Unwatched = walls.unwatched()
	n.Path, n.Places = s.Home.Origins(), sync.OnceValue(func() source.Places { return s.sourcePlaces(walls) })
	return n
}

func (s *Setup) sourcePlaces(walls *Walls) source.Places {
	c := s.Config
	p := source.Places{Notebooks: home.Resolved(s.Home.Notebooks()), Workspace: home.Resolved(s.Home.Folder(c.Workspace))}
	for _, path := range c.Origins.Outside {
		p.Folders = append(p.Folders, source.Folder{Path: home.Resolved(c.Path(path)), Origin: "file " + path})
	}
	for _, path := range c.Origins.Private {
		p.Folders = append(p.Folders, source.Folder{Path: home.Resolved(c.Path(path)), Private: true})
	}
	for _, path := range slices.Concat(walls.Writable(), c.Tools.Files.Roots) {
		if path = home.Resolved(s.Home.Folder(path)); path != p.Workspace {
			p.Beyond = append(p.Beyond, path)
		}
	}
	return p
}

// unwatched says of the processes of tools whether they reach hosts that nobody names,
// and whether they can read what is private: more than the folders of programs and those
// that they write.
func (w *Walls) unwatched() (network, files bool) {
	if w == nil || w.box == nil {
		return true, true
	}
	sockets := w.UnixSockets && !w.System.Mounts()
	return w.Network == sandbox.Open || sockets, w.Read != config.ReadSystem || len(w.Folders) > 0 || sockets
}
