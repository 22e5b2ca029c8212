package getent

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/directory"
)

// program is a script that replaces getent(1) in a test.
func program(t *testing.T, script string) Resolver {
	t.Helper()
	path := filepath.Join(t.TempDir(), "getent")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return Resolver{path}
}

// The real getent finds accounts that every machine has.
func TestGetent(t *testing.T) {
	r := Resolver{Program}
	for _, q := range []directory.Query{{Kind: directory.UserByName, Key: "root"}, {Kind: directory.UserByID, Key: "0"}, {Kind: directory.GroupByName, Key: "root"}, {Kind: directory.GroupByID, Key: "0"}} {
		if a := r.Answer(t.Context(), q); !a.Found || a.Name != "root" || a.ID != 0 || a.Error != "" {
			t.Errorf("%v: %+v", q, a)
		}
	}
	if a := r.Answer(t.Context(), directory.Query{Kind: directory.GroupsOf, Key: "0"}); !a.Found || !slices.Contains(a.Groups, 0) {
		t.Errorf("%+v", a)
	}
	for _, name := range []string{"no-such-account", "x-", "help me"} {
		if a := r.Answer(t.Context(), directory.Query{Kind: directory.UserByName, Key: name}); a.Found || a.Error != "" {
			t.Errorf("%q: %+v", name, a)
		}
	}
}

// Invariant 2: a key is one argument, even if it has spaces, as names in Active Directory may.
func TestArguments(t *testing.T) {
	r := program(t, `case "$#|$1|$2|$3" in
"3|passwd|--|70001") echo 'X y:*:70001:70500:Xaver:/home/x:/bin/sh';;
"3|initgroups|--|X y") printf '%-21s 70100 70200\n' 'X y';;
"3|group|--|domain users") echo 'domain users:*:70500:';;
*) exit 2;; esac`)
	if a := r.Answer(t.Context(), directory.Query{Kind: directory.GroupsOf, Key: "70001"}); !slices.Equal(a.Groups, []int{70100, 70200, 70500}) {
		t.Errorf("%+v", a)
	}
	if a := r.Answer(t.Context(), directory.Query{Kind: directory.GroupByName, Key: "domain users"}); a.ID != 70500 || !a.Found {
		t.Errorf("%+v", a)
	}
	for _, q := range []directory.Query{{Kind: "shadow", Key: "root"}, {Kind: directory.UserByName, Key: "a:b"}, {Kind: directory.UserByName, Key: "--help"}, {Kind: directory.GroupByName, Key: "+1000"}, {Kind: directory.UserByID, Key: "1 2"}, {}} {
		if a := r.Answer(t.Context(), q); a.Found || a.Error == "" {
			t.Errorf("%v: %+v", q, a)
		}
	}
}

// An entry with an invalid number counts as not found.
// It does not count as a failure of the name service.
func TestStrangeEntry(t *testing.T) {
	for _, script := range []string{"echo a:b:c:d", "echo 'a:b:99999999999:1'", "echo 'a:b:-2:1'"} {
		if a := program(t, script).Answer(t.Context(), directory.Query{Kind: directory.UserByName, Key: "dora"}); a.Found || a.Error != "" {
			t.Errorf("%s: %+v", script, a)
		}
	}
	groups := program(t, `case "$1" in passwd) echo x:*:70001:70500:::;; *) echo x 70100 4294967294;; esac`)
	if a := groups.Answer(t.Context(), directory.Query{Kind: directory.GroupsOf, Key: "70001"}); !slices.Equal(a.Groups, []int{70100, 70500}) {
		t.Errorf("%+v", a)
	}
}

// Invariants 1 and 3: a question ends in time, and without an answer
// nothing is reported as not found.
func TestNoAnswer(t *testing.T) {
	for _, script := range []string{"exit 1", "exit 3", "kill -SEGV $$", "echo nonsense", "sleep 1000"} {
		begin := time.Now()
		if a := program(t, script).Answer(t.Context(), directory.Query{Kind: directory.UserByName, Key: "dora"}); a.Found || a.Error == "" {
			t.Errorf("%s: %+v", script, a)
		}
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("%s took %v", script, took)
		}
	}
}

// A question over the socket is answered. An invalid question ends only its own connection.
func TestServe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- Serve(t.Context(), l, Resolver{Program}) }()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("nonsense" + strings.Repeat("x", 2*maxQuestion))); err == nil {
		c.Close()
	}
	a, err := directory.Socket(path)(t.Context(), directory.Query{Kind: directory.GroupsOf, Key: "0"})
	if err != nil || !slices.Contains(a.Groups, 0) {
		t.Errorf("%+v, %v", a, err)
	}
	l.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
