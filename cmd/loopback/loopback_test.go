package loopback

import "testing"

// Invariant 1: only loopback names and addresses are this machine.
func TestIs(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST:9837": true, "localhost.": true, "127.0.0.1": true, "127.8.8.8:1": true,
		"[::1]": true, "[::1]:9837": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, ":9837": false, "0.0.0.0": false, "::": false, "192.0.2.7:9837": false, "gpus.example": false,
		"127.0.0.1.gpus.example": false, "localhost.gpus.example:9837": false,
	} {
		if Is(host) != want {
			t.Errorf("%q: %t, want %t", host, !want, want)
		}
	}
}

func TestActivated(t *testing.T) {
	for _, env := range []map[string]string{nil, {"LISTEN_FDS": "1", "LISTEN_PID": "1"}, {"LISTEN_FDS": "2"}} {
		if l, err := Activated(func(name string) string { return env[name] }); err != ErrNotActivated {
			t.Errorf("%v: %v %v", env, l, err)
		}
	}
}
