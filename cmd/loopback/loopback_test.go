package loopback

import (
	"net"
	"testing"
)

// Invariant 2.
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

// Invariant 1: the one who comes when all places are taken waits until one is free.
func TestBound(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Bound(inner, 2)
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	for range 3 {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	first := <-accepted
	<-accepted
	if got := len(l.(*bounded).places); got != 2 {
		t.Fatalf("%d places are taken", got)
	}
	first.Close()
	first.Close() // twice is once
	third := <-accepted
	if got := len(l.(*bounded).places); got != 2 {
		t.Errorf("%d places are taken", got)
	}
	third.Close()
	inner.Close()
	for range accepted {
		t.Error("a connection came out of nowhere")
	}
}

func TestActivated(t *testing.T) {
	for _, env := range []map[string]string{nil, {"LISTEN_FDS": "1", "LISTEN_PID": "1"}, {"LISTEN_FDS": "2"}} {
		if l, err := Activated(func(name string) string { return env[name] }); err != ErrNotActivated {
			t.Errorf("%v: %v %v", env, l, err)
		}
	}
}
