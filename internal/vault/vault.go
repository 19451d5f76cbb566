// Package vault keeps the credentials of a home: connections to databases and
// services, each with its fields, encrypted at rest.
//
// The file is JSON encrypted by age (https://age-encryption.org/v1) to one
// X25519 identity, which stands in a key file as age-keygen writes it, or in the
// variable ROUSE_VAULT_KEY; so `age -d -i vault.key vault.age` reads it too. A
// file that cannot be read is never overwritten.
//
// What it guards against: the file alone, in a backup or in a copy of the home.
// Whoever can read the key as well, such as a program that runs as the same
// user, can read the vault.
package vault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"

	"rouse/internal/disk"
)

// KeyVariable names the environment variable that may hold the identity.
const KeyVariable = "ROUSE_VAULT_KEY"

const (
	maxFile = 4 << 20 // bytes of a file that is read
	// lockTime is how long a change waits for that of another process.
	lockTime = 10 * time.Second
	format   = 1
)

// Vault is where the connections of a home are kept. It may be used by several
// processes at a time.
type Vault struct {
	FS disk.FS
	// File holds the connections, KeyFile the identity. They are in one folder.
	File, KeyFile string
	// Key is the identity, instead of the one in KeyFile; empty if there is none.
	Key string
}

// content is what is encrypted.
type content struct {
	Version     int         `json:"version"`
	Connections Connections `json:"connections"`
}

// Exists reports whether there is anything in the vault, at the cost of one look
// at its file's name.
func (v Vault) Exists() bool {
	_, err := os.Lstat(v.File)
	return !errors.Is(err, fs.ErrNotExist)
}

// Load reads the connections; none where there is no file.
func (v Vault) Load() (Connections, error) {
	data, err := read(v.File)
	if errors.Is(err, fs.ErrNotExist) {
		return Connections{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read vault: %w", err)
	}
	id, err := v.identity()
	if err != nil {
		return nil, fmt.Errorf("read vault: %w", err)
	}
	c, err := decrypt(data, id)
	if errors.Is(err, errOtherKey) {
		return nil, fmt.Errorf("read vault: %s was encrypted for another key than the one in %s, or is damaged", filepath.Base(v.File), v.keyName())
	}
	if err != nil {
		return nil, fmt.Errorf("read vault: %s is damaged (%v); restore it, or move it away and set the credentials again", filepath.Base(v.File), err)
	}
	return c, nil
}

// Change reads the connections, lets f change them and writes them back, all or
// nothing. On an error, of f too, nothing is written. The first change makes the
// key, unless there is one.
func (v Vault) Change(f func(Connections) error) error {
	unlock, err := v.lock()
	if err != nil {
		return fmt.Errorf("lock vault: %w", err)
	}
	defer unlock()
	c, err := v.Load()
	if err != nil {
		return err
	}
	if err := f(c); err != nil {
		return err
	}
	if err := v.write(c); err != nil {
		return fmt.Errorf("write vault: %w", err)
	}
	return nil
}

func (v Vault) write(c Connections) error {
	id, err := v.identity()
	if errors.Is(err, errNoKey) {
		id, err = v.makeKey()
	}
	if err != nil {
		return err
	}
	data, err := encrypt(c, id)
	if err != nil {
		return err
	}
	return disk.Replace(v.FS, v.File, data, 0o600)
}

var (
	errNoKey    = errors.New("the key is missing")
	errOtherKey = errors.New("encrypted for another key")
)

// identity is the key that there is; the error is errNoKey if there is none.
func (v Vault) identity() (*age.X25519Identity, error) {
	text := []byte(v.Key)
	if v.Key == "" {
		var err error
		if text, err = v.readKey(); err != nil {
			return nil, err
		}
	}
	ids, err := age.ParseIdentities(bytes.NewReader(text))
	if err == nil && len(ids) == 1 {
		if id, ok := ids[0].(*age.X25519Identity); ok {
			return id, nil
		}
	}
	// The library's error may quote the key.
	return nil, fmt.Errorf("%s does not hold one X25519 identity of age", v.keyName())
}

func (v Vault) readKey() ([]byte, error) {
	text, err := read(v.KeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: put %s back, or set %s", errNoKey, v.keyName(), KeyVariable)
	}
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(v.KeyFile)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read by others: chmod 600 %s", v.keyName(), v.KeyFile)
	}
	return text, nil
}

func (v Vault) keyName() string {
	if v.Key != "" {
		return KeyVariable
	}
	return filepath.Base(v.KeyFile)
}

func (v Vault) makeKey() (*age.X25519Identity, error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("# public key: %s\n%s\n", id.Recipient(), id)
	return id, disk.Create(v.FS, v.KeyFile, []byte(text), 0o600)
}

// lock keeps changes of other processes away. The folder is its own lock.
func (v Vault) lock() (unlock func(), err error) {
	unlock, err = disk.LockFolder(context.Background(), filepath.Dir(v.File), lockTime)
	if errors.Is(err, disk.ErrHeld) {
		err = errors.New("another process is changing it; try again")
	}
	return unlock, err
}

// read reads a regular file; it waits for no FIFO.
func read(path string) ([]byte, error) {
	data, err := disk.ReadSmall(path, maxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return data, err
}

func encrypt(c Connections, id *age.X25519Identity) ([]byte, error) {
	text, err := json.Marshal(content{format, c})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w, err := age.Encrypt(&b, id.Recipient())
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if b.Len() > maxFile {
		return nil, fmt.Errorf("it would be larger than %d bytes", maxFile)
	}
	return b.Bytes(), nil
}

func decrypt(data []byte, id *age.X25519Identity) (Connections, error) {
	r, err := age.Decrypt(bytes.NewReader(data), id)
	if errors.As(err, new(*age.NoIdentityMatchError)) {
		return nil, errOtherKey
	}
	if err != nil {
		return nil, errors.New("it is no file of age") // the library's error quotes what it found
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, errors.New("it is cut or was changed")
	}
	var c content
	if json.Unmarshal(text, &c) != nil {
		return nil, errors.New("its content is not JSON") // an error of JSON may quote it
	}
	if c.Version != format {
		return nil, fmt.Errorf("version %d; this program knows %d", c.Version, format)
	}
	if c.Connections == nil {
		c.Connections = Connections{}
	}
	return c.Connections, nil
}
