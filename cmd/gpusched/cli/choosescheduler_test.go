package cli

import (
	"errors"
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
		s, err := SettingsOf([]byte(text), "/f")
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
		s, err := SettingsOf([]byte(text), "/f")
		got := strings.Join(s.Hosts, " ")
		switch {
		case err != nil:
			got = "error"
		case s.Hosts == nil:
			got = "unsaid"
		case got == "":
			got = "none"
		}
		if got != want {
			t.Errorf("%s: %q %v, want %q", text, got, err, want)
		}
	}
}

// The error for a mistake names the file, the line and the remedy.
func TestSettingsErrorsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"engine = 'slurm'\nhost = 'a'":    "/f: line 2 is not a setting",
		"hosts = [\n  'a',\n  'b\n]":      "/f: line 3 is not a setting",
		"# mine\n\nhosts = 'a'":           "/f: line 3 is not a setting",
		"hosts = ['a']\nengine = 'lsf'\n": `/f: there is no engine "lsf"`,
	} {
		_, err := SettingsOf([]byte(text), "/f")
		var e *api.Error
		if !errors.As(err, &e) || e.Message != want || e.Hint == "" {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// The command line overrides the environment, the environment overrides the user's settings, and
// the user's settings override the site's.
func TestWhichEngine(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"HOME": filepath.Join(dir, "home")}
	a := &App{Env: Env{Root: dir, UID: os.Getuid(), Getenv: func(name string) string { return env[name] }}}
	check := func(when, want string) {
		t.Helper()
		a.Chosen = nil
		got, err := a.WhichEngine()
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
	check("nothing is said", EngineLocal)
	write(filepath.Join(dir, "etc/gpusched/client.toml"), `engine = "slurm"`)
	check("the site", EngineSlurm)
	own := filepath.Join(dir, "home/.config/gpusched/client.toml")
	write(own, `engine = "local"`)
	check("the user", EngineLocal)
	if os.Getuid() == 0 {
		if err := os.Chown(own, 54321, -1); err != nil {
			t.Fatal(err)
		}
		check("another user's file", EngineSlurm)
		if err := os.Chown(own, 0, -1); err != nil {
			t.Fatal(err)
		}
	}
	env["GPUSCHED_ENGINE"] = "slurm"
	check("the environment", EngineSlurm)
	a.Own = true
	check("--user", EngineLocal)
	a.Own = false
	a.On = "local"
	check("--on", EngineLocal)
	a.On = ""
	env["GPUSCHED_ENGINE"] = "lsf"
	check("no such engine", "error")
	env["GPUSCHED_ENGINE"], env["GPUSCHED_SOCKET"] = "", "/s"
	write(own, `engine = "slurm"`)
	check("a socket is named", EngineLocal)
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
		a := &App{Env: Env{UID: os.Getuid(), Root: t.TempDir(), Getenv: func(string) string { return "" }}}
		rest, err := a.CutOwn(strings.Fields(line))
		got := strings.Join(rest, " ") + "/" + a.On
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	a := &App{Session: Session{On: EngineSlurm}}
	if got := a.AsTyped("see 'gpusched list'"); got != "see 'gpusched --on slurm list'" {
		t.Error(got)
	}
}

// In a HOME that belongs to another user, no settings file is opened and no message mentions one.
// As root, the test makes such a HOME. Otherwise the code gets another uid, so that the test's own
// HOME seems to belong to another user.
func TestSettingsOfAnotherUserAreIgnored(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	home := filepath.Join(dir, "home")
	own := filepath.Join(home, ".config/gpusched")
	path := filepath.Join(own, ClientSettings)
	if err := errors.Join(os.MkdirAll(own, 0o755), os.WriteFile(secret, []byte("root:hash\n"), 0o600), os.Symlink(secret, path)); err != nil {
		t.Fatal(err)
	}
	a := &App{Env: Env{Root: dir, UID: 0, Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}}
	check := func(when, want string) {
		t.Helper()
		a.Chosen = nil
		if name, err := a.WhichEngine(); name != want || err != nil && strings.Contains(err.Error(), "hash") {
			t.Errorf("%s: %q %v", when, name, err)
		}
	}
	if me := os.Getuid(); me != 0 { // the code gets a uid other than the owner's
		a.UID = me
		check("one's own link, to a file that is no settings", "")
		for _, other := range []int{0, me + 1} {
			a.UID = other
			check("another user's link", EngineLocal)
		}
		if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte(`engine = "slurm"`), 0o644)); err != nil {
			t.Fatal(err)
		}
		check("another user's file", EngineLocal)
		a.UID = me
		check("one's own", EngineSlurm)
		return
	}
	check("root's own link, to a file that is no settings", "")
	if err := os.Lchown(path, 54321, -1); err != nil {
		t.Fatal(err)
	}
	check("another user's link", EngineLocal)
	if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte(`engine = "slurm"`), 0o644)); err != nil {
		t.Fatal(err)
	}
	check("root's own", EngineSlurm)
	if err := os.Chown(home, 54321, -1); err != nil {
		t.Fatal(err)
	}
	check("below another user's directory", EngineLocal)
	if err := errors.Join(os.Chown(home, 0, -1), os.Chmod(home, 0o777)); err != nil {
		t.Fatal(err)
	}
	check("below a directory that all may write", EngineLocal)
	if err := errors.Join(os.Chmod(home, 0o755), os.Remove(path), syscall.Mkfifo(path, 0o644)); err != nil {
		t.Fatal(err)
	}
	check("a pipe", "")
}
