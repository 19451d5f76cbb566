package store

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"rouse/internal/loopback"
)

// maxFrame bounds what is read of an object: a frame of a chunk that does not compress.
const maxFrame = chunk + 64<<10

// bucketTime is how long one request to a bucket may take.
const bucketTime = 2 * time.Minute

// bucket has the chunks of large contents, where a fleet has one.
type bucket struct {
	minio.Core
	name, prefix, url string
}

// openBucket makes ready what a URL names, https://endpoint/bucket?region=R, with the keys of
// this machine; nothing is asked yet.
func openBucket(from, tenant string) (*bucket, error) {
	u, err := url.Parse(from)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || strings.Trim(u.Path, "/") == "" || strings.Contains(strings.Trim(u.Path, "/"), "/") {
		return nil, fmt.Errorf("the bucket cannot be read, want https://endpoint/bucket?region=R without keys in it")
	}
	if u.Scheme == "http" && !loopback.Is(u.Host) {
		return nil, fmt.Errorf("the bucket lets memories and keys go to %s without TLS: write https", u.Host)
	}
	keys := credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}})
	if v, err := keys.GetWithContext(nil); err != nil || v.AccessKeyID == "" {
		return nil, fmt.Errorf("there are no keys for the bucket at %s on this machine: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write ~/.aws/credentials", u.Host)
	}
	region := cmp.Or(u.Query().Get("region"), "us-east-1")
	c, err := minio.NewCore(u.Host, &minio.Options{Creds: keys, Secure: u.Scheme == "https", Region: region, MaxRetries: 4})
	if err != nil {
		return nil, fmt.Errorf("the bucket cannot be used: %w", err)
	}
	return &bucket{*c, strings.Trim(u.Path, "/"), tenant + "/", from}, nil
}

// said says of what a bucket answered how to mend it.
func (b *bucket) said(what string, err error) error {
	if err == nil {
		return nil
	}
	why, host := "the bucket %s at %s cannot be reached from here: look at the network and, by rouse-fleet doctor, at its address", b.EndpointURL().Host
	switch r := minio.ToErrorResponse(err); {
	case r.Code == "NoSuchKey":
		why = "an object is missing from the bucket %s at %s: restore it there, from a backup"
	case r.Code == "NoSuchBucket":
		why = "there is no bucket %s at %s: make it, or name another by rouse-fleet migrate --s3 URL"
	case r.StatusCode == http.StatusForbidden || r.StatusCode == http.StatusUnauthorized:
		why = "the keys of this machine are refused by the bucket %s at %s: look at AWS_ACCESS_KEY_ID and its like, or at ~/.aws/credentials"
	case r.Code != "":
		why = "the bucket %s at %s refuses"
	}
	return fmt.Errorf(why+" (%s): %w", b.name, host, what, err)
}

func (b *bucket) put(ctx context.Context, key string, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, bucketTime)
	defer cancel()
	hash := sha256.Sum256(data)
	_, err := b.PutObject(ctx, b.name, b.prefix+key, bytes.NewReader(data), int64(len(data)), "", hex.EncodeToString(hash[:]), minio.PutObjectOptions{})
	return b.said("put "+key, err)
}

func (b *bucket) get(ctx context.Context, key string) (data []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, bucketTime)
	defer cancel()
	r, _, _, err := b.GetObject(ctx, b.name, b.prefix+key, minio.GetObjectOptions{})
	if err == nil {
		defer r.Close()
		data, err = io.ReadAll(io.LimitReader(r, maxFrame))
	}
	return data, b.said("get "+key, err)
}

func (b *bucket) remove(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, bucketTime)
	defer cancel()
	return b.said("remove "+key, b.RemoveObject(ctx, b.name, b.prefix+key, minio.RemoveObjectOptions{}))
}

// try puts an object into the bucket, gets it and removes it.
func (b *bucket) try(ctx context.Context) error {
	key, data := "try-"+rand.Text(), []byte(rand.Text())
	err := b.put(ctx, key, data)
	if err != nil {
		return err
	}
	is, err := b.get(ctx, key)
	if err == nil && !bytes.Equal(is, data) {
		err = fmt.Errorf("the bucket %s gives other bytes than it was given", b.name)
	}
	return cmp.Or(err, b.remove(ctx, key))
}

// bucket is that of the fleet, nil for none, opened once.
func (s *Store) bucket(ctx context.Context) (*bucket, error) {
	var from, tenant string
	if err := s.conn.QueryRow(ctx, `select s3, rouse.tenant() from rouse.fleet`).Scan(&from, &tenant); err != nil || from == "" {
		return nil, told(err)
	}
	if b := s.at.Load(); b != nil && b.url == from {
		return b, nil
	}
	b, err := openBucket(from, tenant)
	if err == nil {
		s.at.Store(b)
	}
	return b, err
}

// away reads a chunk that is in the bucket, and says where that is.
func (s *Store) away(ctx context.Context, sum string) (frame []byte, where string, err error) {
	b, err := s.bucket(ctx)
	if err == nil && b == nil {
		err = errors.New("a chunk is in a bucket, and the store names none: name it by rouse-fleet migrate --s3 URL")
	}
	if err == nil {
		where = "the bucket " + b.name
		frame, err = b.get(ctx, sum)
	}
	return frame, where, err
}

// SetBucket says where large contents go from now on, once that was tried; "off" is into the
// table again.
func (s *Store) SetBucket(ctx context.Context, to string) error {
	if to != "off" {
		var tenant string
		if err := s.conn.QueryRow(ctx, `select coalesce(rouse.tenant(), 'main')`).Scan(&tenant); err != nil {
			return told(err)
		}
		b, err := openBucket(to, tenant)
		if err == nil {
			err = b.try(ctx)
		}
		if err != nil {
			return err
		}
	}
	tag, err := s.conn.Exec(ctx, `update rouse.fleet set s3 = case when $1 = 'off' then '' else $1 end where $1 <> 'off' or not exists (select from rouse.chunks where data is null)`, to)
	if err == nil && tag.RowsAffected() == 0 {
		return fmt.Errorf("the store needs contents that are in the bucket, so it stays; name another that has them by rouse-fleet migrate --s3 URL")
	}
	return told(err)
}

// piece is a chunk that waits to be sent.
type piece struct {
	data []byte
	away bool // into the bucket
}

// putAway puts chunks into the bucket, a few at once, and leaves it to who gets them a row to
// take them out of trash: until then they are nobody's.
func (u *Upload) putAway(ctx context.Context, frames map[string][]byte, sums [][]byte) error {
	_, err := u.s.conn.Exec(ctx, `insert into rouse.trash (sum) select unnest($1::bytea[]) on conflict (tenant, sum) do update set seen = clock_timestamp()`, sums)
	if err != nil {
		return told(err)
	}
	return each(sums, func(sum []byte) error { return u.bucket.put(ctx, hex.EncodeToString(sum), frames[string(sum)]) })
}

// emptyTrash removes from the bucket what nothing names and nobody puts there, as of a time.
func (s *Store) emptyTrash(ctx context.Context, before time.Time) (n int64, err error) {
	b, err := s.bucket(ctx)
	for err == nil && b != nil {
		var sums [][]byte
		err = pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
			// Whoever puts one of them there waits for the row, and then does it anew.
			// One that has a row after all stays: of two uploads that put it there one was killed.
			rows, err := tx.Query(ctx, `select sum from rouse.trash t where tenant = rouse.tenant() and seen < $1
				and not exists (select from rouse.chunks c where c.tenant = t.tenant and c.sum = t.sum and c.data is null) order by sum limit 100 for update skip locked`, before)
			if err == nil {
				sums, err = pgx.CollectRows(rows, pgx.RowTo[[]byte])
			}
			if err == nil {
				err = each(sums, func(sum []byte) error { return b.remove(ctx, hex.EncodeToString(sum)) })
			}
			if err == nil {
				_, err = tx.Exec(ctx, `delete from rouse.trash where tenant = rouse.tenant() and sum = any($1)`, sums)
			}
			return err
		})
		if len(sums) == 0 {
			break
		}
		n += int64(len(sums))
	}
	return n, told(err)
}

// each does something with each of a list, up to four at once, and gives the first error.
func each(list [][]byte, do func([]byte) error) error {
	errs := make(chan error, len(list))
	seats := make(chan struct{}, 4)
	for _, one := range list {
		seats <- struct{}{}
		go func() {
			errs <- do(one)
			<-seats
		}()
	}
	var err error
	for range list {
		err = cmp.Or(err, <-errs)
	}
	return err
}
