package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gpusched/gpusched/units/contract"
)

// A missing file is the machine's fault if its file system is not mounted or the user's home is
// missing.
func TestAway(t *testing.T) {
	dir := t.TempDir()
	table, mounts := filepath.Join(dir, "fstab"), filepath.Join(dir, "mountinfo")
	write(t, table, 0o644, "# /x /commented nfs\nUUID=1 / ext4 defaults 0 1\nnas:/data /data nfs defaults 0 0\nnas:/home /home/ nfs\nswap none swap\n/dev/sdb1 /usb vfat user,noauto 0 0\n")
	write(t, mounts, 0o644, "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 0:40 / /home rw - nfs nas:/home rw\n")
	for path, want := range map[string]string{
		"/data": "/data", "/data/alice/run": "/data", "/database": "", "/home/alice/gone": "", "/commented": "", "/": "", "/scratch": "", "/usb/x": "",
	} {
		if got := unmountedPoint(path, table, mounts); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	if unmountedPoint("/data", filepath.Join(dir, "none"), mounts) != "" {
		t.Error("without a table")
	}
	for home, want := range map[string]bool{"": false, "/": false, "/nonexistent": false, dir: false, filepath.Join(dir, "none"): true} {
		if homeMissing(home) != want {
			t.Errorf("home %q", home)
		}
	}
	own, at := filepath.Join(dir, "fstab-of-dir"), filepath.Join(dir, "mnt") // as if a file system belonged there
	write(t, own, 0o644, "nas:/d "+at+" nfs defaults 0 0\n")
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string]bool{"": false, at: false, filepath.Join(at, "none"): true, "/none": false} {
		for _, s := range []contract.Setup{{Conda: prefix}, {Venv: prefix}} {
			c := command(t, "/bin/true")
			if c.Setup = s; (neededAway(c, "", own) != nil) != want {
				t.Errorf("environment %q: %v", prefix, neededAway(c, "", own))
			}
		}
	}
	ofDir := filepath.Join(at, "none.py")
	for _, c := range []struct {
		argv []string
		dir  string
		want bool
	}{
		{[]string{"python", "-u", ofDir}, "/", true},
		{[]string{"python", "./none.py"}, at, true},
		{[]string{"torchrun", "--nproc-per-node", "4", ofDir, "/none/too"}, "/", true},
		{[]string{"python", "/none/train.py", ofDir}, "/", false}, // the job's own mistake comes first
		{[]string{"python", own}, "/", false},                     // the file exists
		{[]string{"sleep", "10"}, at, false},
		{[]string{"sh", "-c", "./none.py | tee x"}, at, false},
		{[]string{"prog", "--out=" + ofDir}, "/", false},
		{[]string{"prog"}, at, false},
	} {
		s := command(t, c.argv...)
		s.Dir = c.dir
		if f := neededAway(s, "", own); (f != nil) != c.want {
			t.Errorf("%q in %s: %v", c.argv, c.dir, f)
		}
		s.Setup.Command = "mount-it"
		if f := neededAway(s, "", own); f != nil {
			t.Errorf("after a set-up: %q in %s: %v", c.argv, c.dir, f)
		}
	}
	link := filepath.Join(dir, "link") // the table has the link, and the kernel its target
	if err := os.Symlink(at, link); err != nil {
		t.Fatal(err)
	}
	write(t, own, 0o644, "nas:/d "+link+" nfs defaults 0 0\n")
	for info, want := range map[string]string{"23 22 0:40 / " + at + " rw - nfs nas:/d rw\n": "", "": link} {
		if write(t, mounts, 0o644, info); unmountedPoint(link+"/x", own, mounts) != want {
			t.Errorf("%q: not %q", info, want)
		}
	}
	if write(t, filepath.Join(at, "file"), 0o644, "x"); unmountedPoint(link+"/x", own, mounts) != "" {
		t.Error("what is there is not what should be mounted")
	}
	inHome := command(t, "/home/a/run")
	inHome.Dir, inHome.Env = "/d", []string{"PATH=/home/a/bin:/bin"}
	for _, c := range []struct {
		step contract.Step
		argv string
		want []string
	}{
		{contract.StepChdir, "/home/a/run", []string{"/d"}},
		{contract.StepExec, "/home/a/run", []string{"/home/a/run"}},
		{contract.StepExec, "./run", []string{"/d/run"}},
		{contract.StepExec, "run", []string{"/home/a/bin/run", "/bin/run", "/b/run"}},
	} {
		if inHome.Argv[0] = c.argv; !slices.Equal(missingPaths(&Failure{Step: c.step}, inHome, []string{"PATH=/b"}), c.want) {
			t.Errorf("%s %s: %q", c.step, c.argv, missingPaths(&Failure{Step: c.step}, inHome, []string{"PATH=/b"}))
		}
	}
	if !isWithin("/home/a/x", "/home/a/") || !isWithin("/home/a", "/home/a") || isWithin("/home/ab", "/home/a") || isWithin("/home/a", "/home/a/x") {
		t.Error("within")
	}
	write(t, filepath.Join(dir, "text"), 0o644, "x")
	s := command(t, "/bin/true")
	s.Dir = filepath.Join(dir, "none", "work")
	l := launch(t, "closed", s, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "HOME="+filepath.Join(dir, "none")) })
	checkFailure(t, l, 200, "away\nERRNO=2", []string{"could not be entered", "the home directory", "is missing, too"})
	s.Dir, s.Setup.Venv = "/", filepath.Join(dir, "none", "venv") // PATH has another program named true
	s.Argv = []string{"true"}
	l = launch(t, "closed", s, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "HOME="+filepath.Join(dir, "none")) })
	checkFailure(t, l, 200, "away\nERRNO=2", []string{"it needs", "/none/venv", "is missing", "the home directory"})
	s.Setup.Venv, s.Argv = "", []string{"/bin/true", filepath.Join(dir, "none", "train.py")}
	l = launch(t, "closed", s, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "HOME="+filepath.Join(dir, "none")) })
	checkFailure(t, l, 200, "away\nERRNO=2", []string{"it needs", "train.py", "is missing", "the home directory"})
	s.Argv = s.Argv[:1]
	s.EnvMode, s.Env = contract.EnvLogin, []string{"SHELL=" + filepath.Join(dir, "none", "zsh")}
	l = launch(t, "closed", s, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "HOME="+filepath.Join(dir, "none")) })
	checkFailure(t, l, 200, "away\nERRNO=2", []string{"the login shell", "the home directory"}, "STATUS="+contract.StatusLogin)
	s.EnvMode, s.Dir = contract.EnvInherit, filepath.Join(dir, "gone")
	l = launch(t, "closed", s, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "HOME="+filepath.Join(dir, "none")) })
	checkFailure(t, l, 200, "chdir\nERRNO=2", []string{"could not be entered", "must exist"}) // a directory elsewhere
}

// The missing file may be the target of a link, or the interpreter of an existing script.
func TestAwayThroughLinks(t *testing.T) {
	dir := t.TempDir()
	gone, table := filepath.Join(dir, "gone"), filepath.Join(dir, "fstab")
	write(t, table, 0o644, "nas:/d "+gone+" nfs defaults 0 0\n")
	write(t, filepath.Join(dir, "script"), 0o755, "#! "+gone+"/bin/python -u\n")
	write(t, filepath.Join(dir, "other"), 0o755, "#!\n")
	for name, target := range map[string]string{"data": gone, "near": "gone/x", "twice": "data/run", "round": "round", "here": "script"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{
		"data": true, "data/run": true, "near": true, "twice": true, "script": true, "here": true, "round": false, "other": false, "none": false,
	} {
		if why := whyAway(filepath.Join(dir, name), "", table); (why != "") != want {
			t.Errorf("%s: %q", name, why)
		}
	}
}
