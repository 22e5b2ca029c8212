package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/supervise"
)

// The paths of a user's scheduler belong to the user. A flag overrides them.
func TestOwnPaths(t *testing.T) {
	home, runtime := t.TempDir(), t.TempDir()
	env := map[string]string{"HOME": home, "XDG_RUNTIME_DIR": runtime, "USER": "carol"}
	getenv := func(name string) string { return env[name] }
	const uid = 987654 // no account has this uid
	if err := os.Chown(runtime, uid, -1); err != nil {
		t.Fatal(err)
	}
	p, err := ownPaths(getenv, uid)
	if err != nil {
		t.Fatal(err)
	}
	specs := filepath.Join(t.TempDir(), "elsewhere")
	o := supervise.Options{State: "/var/lib/gpusched", Specs: specs, Launcher: "/usr/libexec/gpusched/gpusched-job", Accounts: "/run/x"}
	if err := p.apply(&o, "", map[string]bool{"specs": true}); err != nil {
		t.Fatal(err)
	}
	self, _ := os.Executable()
	for what, pair := range map[string][2]string{
		"settings": {o.Config, home + "/.config/gpusched/gpusched.toml"}, "drop-ins": {o.DropIns, home + "/.config/gpusched/conf.d"},
		"specs": {o.Specs, specs}, "launcher": {o.Launcher, filepath.Dir(self) + "/gpusched-job"}, "accounts": {o.Accounts, ""},
		"socket": {o.Own.Socket, runtime + "/gpusched/gpusched.sock"}, "bus": {o.Own.Bus, "unix:path=" + runtime + "/systemd/private"},
		"name": {o.Own.Name, "carol"}, "linger": {o.Own.Linger, "/var/lib/systemd/linger/carol"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %q, want %q", what, pair[0], pair[1])
		}
	}
	if !strings.HasPrefix(o.State, home+"/.local/state/gpusched/machines/") {
		t.Errorf("state: %q", o.State)
	}
	for _, dir := range []string{o.State, o.Specs} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info, err)
		}
	}
	if err := os.Chown(runtime, uid+1, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := ownPaths(getenv, uid); err == nil || !strings.Contains(err.Error(), "belongs") {
		t.Errorf("in another's runtime directory: %v", err)
	}
	for _, missing := range []string{"HOME", "XDG_RUNTIME_DIR"} {
		if _, err := ownPaths(func(name string) string {
			if name == missing {
				return ""
			}
			return env[name]
		}, uid); err == nil {
			t.Errorf("works without %s", missing)
		}
	}
}
