package server

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Invariant 2, with the real kernel: the peer is the process that called connect().
func TestThePeerIsWhoTheKernelSays(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p, err := peerOf(conn)
	if err != nil {
		t.Fatal(err)
	}
	if p.uid != os.Getuid() || p.gid != os.Getgid() || p.pid != os.Getpid() {
		t.Errorf("peer %+v, want uid %d gid %d pid %d", p, os.Getuid(), os.Getgid(), os.Getpid())
	}
	want, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range want {
		if !slices.Contains(p.groups, uint32(g)) {
			t.Errorf("group %d is missing in %v", g, p.groups)
		}
	}
	if len(p.groups) != len(want) {
		t.Errorf("groups %v, want %v", p.groups, want)
	}
}

func TestAPipeHasNoPeer(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if p, err := peerOf(a); err == nil {
		t.Errorf("a pipe has peer %+v", p)
	}
}
