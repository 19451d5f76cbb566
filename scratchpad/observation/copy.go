package observation

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
)

// DatabaseFiles are the names of a store's database and of what SQLite keeps beside it.
// The first alone is what [Copy] gives.
func DatabaseFiles() []string { return []string{database, database + "-wal", database + "-shm"} }

// Folder is where a store has its large contents.
const Folder = contents

// Copy makes a copy of the database of the store in dir, as it is at one moment, while
// others may use it. Contents that are files of their own are not in it.
func Copy(dir, to string) error {
	name := (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.Join(dir, database), RawQuery: "mode=ro&_pragma=busy_timeout(30000)"}).String()
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return fmt.Errorf("copy the observation store: %w", err)
	}
	defer db.Close()
	if _, err := db.Exec("VACUUM INTO ?", to); err != nil {
		return fmt.Errorf("copy the observation store: %w", err)
	}
	return nil
}
