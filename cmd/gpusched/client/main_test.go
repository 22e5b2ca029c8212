package client

import (
	"os"
	"os/user"
	"strconv"
	"testing"
)

// If the environment names no home, files of the home are not looked up in the current directory.
// Another user may have put files there.
func TestHomeIsAbsolute(t *testing.T) {
	own := "/"
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		own = u.HomeDir
	}
	for home, want := range map[string]string{"": own, ".": own, "a/b": own, "/srv/a": "/srv/a"} {
		t.Setenv("HOME", home)
		if got := hostApp().Getenv("HOME"); got != want {
			t.Errorf("HOME=%q is taken for %q, want %q", home, got, want)
		}
	}
}
