package loopback

import "testing"

func TestIs(t *testing.T) {
	for addr, want := range map[string]bool{
		"localhost": true, "LOCALHOST:80": true, "127.0.0.1": true, "127.9.9.9:1": true, "::1": true, "[::1]": true, "[::1]:80": true, "::ffff:127.0.0.1": true,
		"": false, ":80": false, "0.0.0.0": false, "[::]:80": false, "10.0.0.1": false, "notlocalhost": false, "x.localhost": false, "127.0.0.1.example.com": false, "localhost.example.com:80": false, "127.1": false,
	} {
		if Is(addr) != want {
			t.Errorf("%q: %v, want %v", addr, !want, want)
		}
	}
}
