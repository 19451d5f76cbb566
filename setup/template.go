package setup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"rouse"
	"rouse/home"
	"rouse/internal/disk"
)

// WriteTemplate writes the files of a new home that are not there yet.
func WriteTemplate(dir string) (made []string, err error) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) == 0 {
		if err := os.Chmod(dir, 0o700); err != nil {
			return nil, err
		}
	}
	out := disk.OS{}
	err = fs.WalkDir(rouse.Template, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := rouse.Template.ReadFile(name)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, name)
		if err := out.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		err = disk.Create(out, path, data, mode(name))
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		made = append(made, name)
		return err
	})
	if err != nil {
		return made, err
	}
	return made, os.MkdirAll(home.Home{Dir: dir}.Logs(), 0o700)
}

func mode(name string) fs.FileMode {
	if filepath.Ext(name) == ".sh" {
		return 0o700
	}
	return 0o600
}
