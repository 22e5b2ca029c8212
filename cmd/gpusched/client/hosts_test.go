package client

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
)

// Machines on the command line override those in the environment. The environment overrides the
// user's settings, and the user's settings override the site's. The environment and settings apply
// only to commands that show something, and only if the command line selects no scheduler.
func TestOrderOfHostSettings(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"HOME": filepath.Join(dir, "home")}
	site, own := filepath.Join(dir, "etc/gpusched/client.toml"), filepath.Join(dir, "home/.config/gpusched/client.toml")
	write := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	a := &cli.App{}
	check := func(when, line, want string) {
		t.Helper()
		a = &cli.App{Env: cli.Env{Root: dir, UID: os.Getuid(), Getenv: func(name string) string { return env[name] }}, Session: cli.Session{Own: a.Own, On: a.On, Asked: a.Asked}}
		_, err := cutHosts(a, strings.Fields(line))
		got := strings.Join(a.Hosts, ",")
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %s: %q, want %q (%v)", when, line, got, want, err)
		}
	}
	check("nothing is said", "list", "")
	write(site, `hosts = ["s"]`)
	check("the site", "list", "s")
	check("the site", "status", "s")
	check("another command", "submit -- true", "")
	check("another command", "history", "")
	write(own, `hosts = ["u", "v"]`)
	check("the user", "gpus", "u,v")
	env["GPUSCHED_HOSTS"] = "e"
	check("the environment", "list", "e")
	check("the command line", "--hosts c list", "c")
	env["GPUSCHED_HOSTS"] = "."
	check("this one alone", "list", "")
	env["GPUSCHED_HOSTS"] = ""
	write(own, `hosts = []`)
	check("the user wants this machine alone", "list", "")
	write(own, `hosts = ["-x"]`)
	check("no name", "list", "error")
	check("no name, and the command line has one", "--hosts c list", "c")
	write(own, `engine = "slurm"`)
	check("another engine", "list", "")
	write(own, "")
	env["GPUSCHED_SOCKET"] = "/s"
	check("a socket is named", "list", "")
	env["GPUSCHED_HOSTS"] = "e"
	check("a socket is named, and machines", "list", "e")
	env["GPUSCHED_SOCKET"] = ""
	check("an engine is named behind the command", "list --on local", "")
	check("an engine is named behind the command", "gpus --on=local", "")
	a.On = cli.EngineLocal
	check("an engine is named", "list", "")
	check("an engine is named, and machines", "--hosts c list", "c")
	a.On, env["GPUSCHED_HOSTS"] = "", ""
	a.Asked = &cli.FromAfar{Called: "a"}
	check("asked from afar", "list", "")
	a.Asked, a.Own = nil, true
	check("--user", "list", "")
}
