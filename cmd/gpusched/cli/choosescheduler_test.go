package client

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
)

func TestEngineSetting(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "",
		"# nothing\n\n":                        "",
		"engine = \"slurm\"\n":                 "slurm",
		"  engine=\"local\"   # this machine":  "local",
		"engine = 'slurm'":                     "slurm",
		"engine = slurm":                       "error",
		"[engine]":                             "error",
		"engine = \"lsf\"":                     "error",
		"host = \"a\"":                         "error",
		"engine = \"slurm\" and more":          "error",
		"engine = \"slurm":                     "error",
		"engine = \"slurm\"\nengine=\"local\"": "error",
	} {
		s, err := settingsOf([]byte(text), "/f")
		got := s.engine
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %q %v, want %q", text, got, err, want)
		}
	}
}

func TestHostsSetting(t *testing.T) {
	for text, want := range map[string]string{
		`hosts = ["a"]`:                                  "a",
		`hosts=[ "a" ,"ann@b", ] # mine`:                 "a ann@b",
		`hosts = []`:                                     "none",
		"hosts = [\n  \"a\",\n]":                         "a",
		`engine = "local"` + "\n" + `hosts = ["a", "b"]`: "a b",
		`engine = "local"`:                               "unsaid",
		`hosts = ['a', "b"]`:                             "a b",
		`hosts = "a"`:                                    "error",
		`hosts = [a]`:                                    "error",
		`hosts = ["a"`:                                   "error",
		`hosts = ["a" "b"]`:                              "error",
		`hosts = ["a", "b]`:                              "error",
		`hosts = [,]`:                                    "error",
		`hosts = ["a"] b`:                                "error",
		`hosts`:                                          "error",
		`hosts = `:                                       "error",
	} {
		s, err := settingsOf([]byte(text), "/f")
		got := strings.Join(s.hosts, " ")
		switch {
		case err != nil:
			got = "error"
		case s.hosts == nil:
			got = "unsaid"
		case got == "":
			got = "none"
		}
		if got != want {
			t.Errorf("%s: %q %v, want %q", text, got, err, want)
		}
	}
}

// A mistake is told with its file, its line and what to do.
func TestMistakesInSettings(t *testing.T) {
	for text, want := range map[string]string{
		"engine = 'slurm'\nhost = 'a'":    "/f: line 2 is not a setting",
		"hosts = [\n  'a',\n  'b\n]":      "/f: line 3 is not a setting",
		"# mine\n\nhosts = 'a'":           "/f: line 3 is not a setting",
		"hosts = ['a']\nengine = 'lsf'\n": `/f: there is no engine "lsf"`,
	} {
		_, err := settingsOf([]byte(text), "/f")
		var e *api.Error
		if !errors.As(err, &e) || e.Message != want || e.Hint == "" {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// The machines of the command line are before those of the environment, these before the user's, and those before the
// site's; they are for what shows something, and for nobody who has said whom to ask.
func TestWhichHosts(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"HOME": filepath.Join(dir, "home")}
	site, own := filepath.Join(dir, "etc/gpusched/client.toml"), filepath.Join(dir, "home/.config/gpusched/client.toml")
	write := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	a := &app{}
	check := func(when, line, want string) {
		t.Helper()
		a = &app{startedWith: startedWith{root: dir, uid: os.Getuid(), getenv: func(name string) string { return env[name] }}, whomAsked: whomAsked{own: a.own, on: a.on, asked: a.asked}}
		_, err := a.cutHosts(strings.Fields(line))
		got := strings.Join(a.hosts, ",")
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
	a.on = engineLocal
	check("an engine is named", "list", "")
	check("an engine is named, and machines", "--hosts c list", "c")
	a.on, env["GPUSCHED_HOSTS"] = "", ""
	a.asked = &fromAfar{called: "a"}
	check("asked from afar", "list", "")
	a.asked, a.own = nil, true
	check("--user", "list", "")
}

// The command line is before the environment, that before the user's settings, and these before the site's.
func TestWhichEngine(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"HOME": filepath.Join(dir, "home")}
	a := &app{startedWith: startedWith{root: dir, uid: os.Getuid(), getenv: func(name string) string { return env[name] }}}
	check := func(when, want string) {
		t.Helper()
		a.chosen = nil
		got, err := a.whichEngine()
		var e *api.Error
		if err != nil && (!errors.As(err, &e) || e.Code != api.CodeUsage) {
			t.Errorf("%s: %v", when, err)
		}
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %q, want %q (%v)", when, got, want, err)
		}
	}
	write := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	check("nothing is said", engineLocal)
	write(filepath.Join(dir, "etc/gpusched/client.toml"), `engine = "slurm"`)
	check("the site", engineSlurm)
	own := filepath.Join(dir, "home/.config/gpusched/client.toml")
	write(own, `engine = "local"`)
	check("the user", engineLocal)
	if os.Getuid() == 0 {
		if err := os.Chown(own, 54321, -1); err != nil {
			t.Fatal(err)
		}
		check("another user's file", engineSlurm)
		if err := os.Chown(own, 0, -1); err != nil {
			t.Fatal(err)
		}
	}
	env["GPUSCHED_ENGINE"] = "slurm"
	check("the environment", engineSlurm)
	a.own = true
	check("--user", engineLocal)
	a.own = false
	a.on = "local"
	check("--on", engineLocal)
	a.on = ""
	env["GPUSCHED_ENGINE"] = "lsf"
	check("no such engine", "error")
	env["GPUSCHED_ENGINE"], env["GPUSCHED_SOCKET"] = "", "/s"
	write(own, `engine = "slurm"`)
	check("a socket is named", engineLocal)
	env["GPUSCHED_SOCKET"] = ""
	write(own, `what = 1`)
	check("a mistake in the settings", "error")
}

func TestEngineOnTheCommandLine(t *testing.T) {
	for line, want := range map[string]string{
		"list":                   "list/",
		"--on slurm list -a":     "list -a/slurm",
		"--on=local list --on x": "list --on x/local",
		"--on":                   "error",
		"--on=lsf list":          "error",
		"--on slurm":             "/slurm",
	} {
		a := &app{startedWith: startedWith{uid: os.Getuid(), root: t.TempDir(), getenv: func(string) string { return "" }}}
		rest, err := a.cutOwn(strings.Fields(line))
		got := strings.Join(rest, " ") + "/" + a.on
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	a := &app{whomAsked: whomAsked{on: engineSlurm}}
	if got := a.asTyped("see 'gpusched list'"); got != "see 'gpusched --on slurm list'" {
		t.Error(got)
	}
}

// A job of Slurm's chooses it by its name; no other text does, and --on wins.
func TestJobsChooseTheEngine(t *testing.T) {
	for line, want := range map[string]string{
		"cancel slurm:5":                              engineSlurm,
		"cancel 4 slurm:5":                            "", // refused: whose 4 is would be a guess
		"cancel slurm:4 slurm:5":                      engineSlurm,
		"cancel --on slurm 4 slurm:5":                 engineSlurm,
		"show slurm:5_1":                              engineSlurm,
		"exec slurm:5 -- ls":                          engineSlurm,
		"cancel slurm:4,5":                            engineSlurm, // as a:4,5 are both of a
		"cancel slurm:4,slurm:5 slurm:6-8":            engineSlurm,
		"cancel slurm:7_[1,3]":                        engineSlurm,
		"cancel 4,slurm:5":                            "",
		"cancel 4,5":                                  engineLocal,
		"cancel slurm:4,a:5":                          "",
		"cancel a:4,slurm:5":                          "",
		"cancel a:4 slurm:5":                          "",
		"cancel slurm:4,5 6":                          "",
		"submit --after slurm:4,5 -- true":            engineSlurm,
		"submit --after=slurm:4,5 --after-ok slurm:6": engineSlurm,
		"submit --after 4,slurm:5 -- true":            "",
		"show name:a,slurm:5":                         engineLocal, // all of it is the name
		"show slurm:name:a,b":                         engineSlurm,
		"update 4 --after-any slurm:5":                "",
		"update slurm:4 --after-any slurm:5":          engineSlurm,
		"submit --after=slurm:5 -- true":              engineSlurm,
		"submit --after 4 --after-ok slurm:5 -- true": "",
		"submit --name slurm:x -- true":               engineLocal,
		"submit --comment slurm:moved -- true":        engineLocal,
		"submit --tag a=b --comment=slurm:x -- true":  engineLocal,
		"submit -- slurm:5":                           engineLocal,
		"exec 5 -- slurm:5":                           engineLocal,
		"list --name slurm:x":                         engineLocal,
		"cancel --on local slurm:5":                   engineLocal,
		"submit --on local --after slurm:5 -- true":   engineLocal,
		"submit --on slurm --comment slurm:x -- true": engineSlurm,
	} {
		args := strings.Fields(line)
		for _, variable := range []string{"", engineLocal} {
			parser, err := newParser(grammarFor(args), io.Discard, func(int) {})
			if err != nil {
				t.Fatal(err)
			}
			k, err := parser.Parse(args)
			if err != nil {
				t.Fatal(line, err)
			}
			a := &app{startedWith: startedWith{
				uid: os.Getuid(), root: t.TempDir(), getenv: func(name string) string {
					return map[string]string{engineVariable: variable}[name]
				},
			}, whomAsked: whomAsked{slurm: withSlurm}}
			err = a.chooseEngine(k)
			if got := a.other() != nil; (err != nil) != (want == "") || got != (want == engineSlurm) {
				t.Errorf("%s=%q %s: Slurm %t, %v", engineVariable, variable, line, got, err)
			}
		}
	}
}

// In a HOME that another user owns nothing is opened, and nothing of it is told. As root the test can make one; else
// its own is that of another user.
func TestSettingsOfAnotherUser(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	home := filepath.Join(dir, "home")
	own := filepath.Join(home, ".config/gpusched")
	path := filepath.Join(own, clientSettings)
	if err := errors.Join(os.MkdirAll(own, 0o755), os.WriteFile(secret, []byte("root:hash\n"), 0o600), os.Symlink(secret, path)); err != nil {
		t.Fatal(err)
	}
	a := &app{startedWith: startedWith{root: dir, uid: 0, getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}}
	check := func(when, want string) {
		t.Helper()
		a.chosen = nil
		if name, err := a.whichEngine(); name != want || err != nil && strings.Contains(err.Error(), "hash") {
			t.Errorf("%s: %q %v", when, name, err)
		}
	}
	if me := os.Getuid(); me != 0 { // to others what is there is another user's
		a.uid = me
		check("one's own link, to a file that is no settings", "")
		for _, other := range []int{0, me + 1} {
			a.uid = other
			check("another user's link", engineLocal)
		}
		if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte(`engine = "slurm"`), 0o644)); err != nil {
			t.Fatal(err)
		}
		check("another user's file", engineLocal)
		a.uid = me
		check("one's own", engineSlurm)
		return
	}
	check("root's own link, to a file that is no settings", "")
	if err := os.Lchown(path, 54321, -1); err != nil {
		t.Fatal(err)
	}
	check("another user's link", engineLocal)
	if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte(`engine = "slurm"`), 0o644)); err != nil {
		t.Fatal(err)
	}
	check("root's own", engineSlurm)
	if err := os.Chown(home, 54321, -1); err != nil {
		t.Fatal(err)
	}
	check("below another user's directory", engineLocal)
	if err := errors.Join(os.Chown(home, 0, -1), os.Chmod(home, 0o777)); err != nil {
		t.Fatal(err)
	}
	check("below a directory that all may write", engineLocal)
	if err := errors.Join(os.Chmod(home, 0o755), os.Remove(path), syscall.Mkfifo(path, 0o644)); err != nil {
		t.Fatal(err)
	}
	check("a pipe", "")
}
