package main

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"rouse/agent/model/modeltest"
)

const (
	manyViewers  = 50
	maxByViewers = 5 // ms
)

// viewers are browsers that keep the page of `rouse serve` up to date.
type viewers struct {
	http.Client
	url   string
	leave context.CancelFunc // they look no more
}

// watched compares a cycle with one call while 50 browsers look at its home to the same in a home that is not shown.
func watched(p programs, n int) error {
	v := &viewers{leave: func() {}}
	defer func() { v.leave() }()
	var commands []command
	for _, name := range []string{"watched", "alone"} {
		dir := filepath.Join(p.path(name), "home")
		if err := errors.Join(os.Mkdir(p.path(name), 0o700), newHome(p, dir)); err != nil {
			return err
		}
		server := modeltest.New(replies(n + warmUps)...)
		defer server.Close()
		commands = append(commands, command{argv: []string{"rouse", "run"}, dir: dir, env: append(modelEnv(server), "HOME="+p.dir), ready: func() error {
			v.leave()
			if err := renew(dir, task); err != nil || name == "alone" {
				return err
			}
			return v.look()
		}})
	}
	serve := exec.Command(p.path("rouse"), "serve", p.path("watched"), "--listen", "127.0.0.1:0")
	out, err := serve.StdoutPipe()
	if err == nil {
		err = serve.Start()
	}
	if err != nil {
		return err
	}
	defer serve.Wait()
	defer serve.Process.Signal(os.Interrupt)
	if err := v.login(bufio.NewScanner(out)); err != nil {
		return err
	}
	costs, err := p.series(n, commands...)
	if err != nil {
		return err
	}
	heading("cycle with one call, wall in ms", "50 viewers", "nobody looks")
	adds("50 event streams", costs, maxByViewers)
	return nil
}

// login follows the link that is printed.
func (v *viewers) login(said *bufio.Scanner) (err error) {
	link := regexp.MustCompile(`(http://[^/]+)/login\?once=\w+`)
	for said.Scan() {
		if m := link.FindStringSubmatch(said.Text()); m != nil {
			v.url = m[1]
			if v.Jar, err = cookiejar.New(nil); err != nil {
				return err
			}
			_, err = v.get(context.Background(), m[0])
			return err
		}
	}
	return errors.New("rouse serve prints no link")
}

// look has all of them look, and gives back once each has seen the home.
func (v *viewers) look() error {
	ctx, leave := context.WithCancel(context.Background())
	v.leave = leave
	for range manyViewers {
		res, err := v.get(ctx, v.url+"/live")
		if err != nil {
			return err
		}
		if _, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil {
			return err
		}
	}
	return nil
}

func (v *viewers) get(ctx context.Context, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := v.Do(req)
	if err == nil && res.StatusCode != http.StatusOK {
		err = errors.New(url + ": " + res.Status)
	}
	return res, err
}
