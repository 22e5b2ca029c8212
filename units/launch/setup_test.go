package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// prefix creates the directories and files of an environment and returns its path.
func prefix(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	for path, text := range files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Conda and virtual environments are entered as their own scripts would do it, in every mode.
// Environments that the submitter had activated are deactivated. If no package of the environment
// brings scripts of its own, no shell runs: arguments arrive byte for byte, and the process stays
// the same (invariant 1).
func TestEnterEnvironments(t *testing.T) {
	conda := prefix(t, "a b$(x)'\n/envs/tor ch", map[string]string{"conda-meta/history": ""})
	venv := prefix(t, "v\"e%n", map[string]string{"bin/python": "#!/bin/sh\n"})
	root := filepath.Dir(filepath.Dir(conda))
	if err := os.MkdirAll(root+"/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"/bin/conda", []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []contract.EnvMode{contract.EnvInherit, contract.EnvClean, contract.EnvLogin} {
		s := reporter(t, hardArguments()...)
		s.EnvMode, s.Setup.Conda, s.Setup.Venv = mode, conda, venv
		s.Env = []string{
			"PATH=/old/bin:/olden/bin:/usr/bin:/bin", "CONDA_PREFIX=/old", "CONDA_PREFIX_1=/base", "CONDA_PROMPT_MODIFIER=(old) ", "CONDA_SHLVL=2",
			"VIRTUAL_ENV=/olden", "VIRTUAL_ENV_PROMPT=olden", "PYTHONHOME=/x",
		}
		r := launch(t, "real", s).received(t)
		if argv := texts(r.Argv); !slices.Equal(argv, s.Argv) {
			t.Errorf("%s: argv %q", mode, argv)
		}
		expect(t, texts(r.Env), map[string]string{
			"PATH": venv + "/bin:" + conda + "/bin:/usr/bin:/bin", "CONDA_PREFIX": conda, "CONDA_DEFAULT_ENV": "tor ch", "CONDA_SHLVL": "1",
			"CONDA_EXE": root + "/bin/conda", "CONDA_PREFIX_1": "(unset)", "CONDA_PROMPT_MODIFIER": "(unset)",
			"VIRTUAL_ENV": venv, "VIRTUAL_ENV_PROMPT": "(unset)", "PYTHONHOME": "(unset)",
		})
	}
}

// The installation itself is base, and an environment elsewhere is named by its path.
func TestCondaName(t *testing.T) {
	base := prefix(t, "conda", map[string]string{"condabin/conda": ""})
	for dir, want := range map[string]string{base: "base " + base, base + "/envs/x": "x " + base, "/srv/mine": "/srv/mine "} {
		if name, root := condaName(dir); name+" "+root != want {
			t.Errorf("%s: %q %q, want %q", dir, name, root, want)
		}
	}
	e := environment{index: map[string]int{}}
	e.set("CONDA_PREFIX_1", "/a")
	e.set("CONDA_PREFIX_2", "/b")
	if front := e.enter(&contract.Setup{Conda: base}); front != base+"/bin:" || e.get("CONDA_DEFAULT_ENV") != "base" || e.get("CONDA_PREFIX_2") != "" {
		t.Errorf("%q, %q", front, e.entries)
	}
}

// If a job had no PATH, it gets the programs of the environment and the default path. PATH does not
// contain the current directory.
func TestEnterWithoutPath(t *testing.T) {
	s := &Spec{Program: contract.Program{EnvMode: contract.EnvInherit, Setup: contract.Setup{Venv: "/v"}}}
	env, front := commandEnvironment(s, true, nil)
	expect(t, env, map[string]string{"PATH": "/v/bin:" + defaultPath})
	if front != "/v/bin:" || slices.Contains(env, "") {
		t.Errorf("%q, %q", front, env)
	}
}

// A set-up runs in the shell that becomes the command. The command gets the shell's exported
// variables, directory, umask, open files and ignored signals. The job's arguments and variables
// arrive byte for byte (invariant 1), whatever the set-up does to the arguments and variables of
// its shell.
func TestSetupShell(t *testing.T) {
	for _, mode := range []contract.EnvMode{contract.EnvInherit, contract.EnvClean, contract.EnvLogin} {
		t.Run(string(mode), func(t *testing.T) {
			s := reporter(t, hardArguments()...)
			s.EnvMode = mode
			s.Env = []string{"BIN=\xff\xfe$HOME%n\n", "KEEP=1", "PATH=/usr/bin:/bin"}
			s.Setup.Command = "export CUDA_VISIBLE_DEVICES=3 GPUSCHED_JOB_ID=7; export FROM_SETUP=\"$KEEP two\"; set -- lost; mkdir -p 'sub dir'; cd 'sub dir'; set -eu; unset KEEP; # " +
				strings.Repeat("x", 100<<10)
			l := launch(t, "closed", s)
			r := l.received(t)
			if argv := texts(r.Argv); !slices.Equal(argv, s.Argv) {
				t.Errorf("argv %q", argv)
			}
			if string(r.Dir) != s.Dir+"/sub dir" || r.PID != l.pid {
				t.Errorf("directory %q, process %d became %d", r.Dir, l.pid, r.PID)
			}
			expect(t, texts(r.Env), map[string]string{
				"FROM_SETUP": "1 two", "KEEP": "(unset)", "BIN": "\xff\xfe$HOME%n\n", "NOTIFY_SOCKET": "(unset)", setupVariable: "(unset)",
				"GPUSCHED_JOB_ID": "42", "CUDA_VISIBLE_DEVICES": "",
			})
			want := []string{"STATUS=" + contract.StatusSetup, silence}
			if mode == contract.EnvLogin {
				want = append([]string{"STATUS=" + contract.StatusLogin}, want...)
			}
			if !slices.Equal(l.notes, want) {
				t.Errorf("notes %q", l.notes)
			}
		})
	}
}

func TestSetupKeepsFilesAndUmask(t *testing.T) {
	s := command(t, "/bin/sh", "-c", "echo 7 >&9; umask; ulimit -Sn; kill -HUP $$; echo alive; /bin/cat out")
	s.SoftLimits = []contract.Limit{{Name: "NOFILE", Soft: 512}, {Name: "DATA", Soft: 1 << 40}}
	s.Setup.Command = "exec 9>out; umask 077; ulimit -Sn 300; trap '' HUP"
	if l := launch(t, "real", s); l.stdout != "0077\n300\nalive\n7\n" {
		t.Errorf("%+v", l)
	}
}

// A set-up that fails, for whatever reason, ends the job with one clear line and the exit status of
// the step, and the command does not run (invariant 6).
func TestSetupFails(t *testing.T) {
	for setup, want := range map[string]string{
		"false":                        "exit status 1",
		"true; (exit 9)":               "exit status 9",
		"exit 3":                       "exit status 3",
		"exit":                         "ended the shell",
		"set -e; false; true":          "exit status 1",
		"if":                           "exit status",
		". /no/such/file":              "exit status",
		"set -u; echo \"$not_there\"":  "exit status",
		"no-such-program-at-all":       "exit status 127",
		"trap - EXIT; exec /bin/false": "",
	} {
		s := reporter(t)
		s.Setup.Command = setup
		l := launch(t, "real", s)
		if setup == "trap - EXIT; exec /bin/false" {
			if l.status != 1 || l.stdout != "" {
				t.Errorf("%q: %+v", setup, l)
			}
			continue
		}
		if l.status != contract.StepSetup.ExitStatus() || l.stdout != "" || !strings.Contains(l.stderr, "gpusched: job 42 could not start: its set-up failed: ") ||
			!strings.Contains(l.stderr, want) {
			t.Errorf("%q: %+v", setup, l)
		}
	}
}

// A command that is missing after the set-up is reported as usual.
func TestCommandMissingAfterSetup(t *testing.T) {
	s := command(t, "no-such-program-at-all")
	s.Setup.Command = "true"
	l := launch(t, "real", s)
	if l.status != 203 || !strings.Contains(l.stderr, "no such program in the job's PATH") {
		t.Errorf("%+v", l)
	}
}

// The scripts of a conda environment's packages run in the order of their names, before the user's
// own command. Modules are loaded first, and come after the environment in PATH.
func TestActivateScriptsAndModules(t *testing.T) {
	conda := prefix(t, "env", map[string]string{
		"etc/conda/activate.d/b.sh": "export ORDER=$ORDER,b:$CONDA_PREFIX",
		"etc/conda/activate.d/a.sh": "export ORDER=$ORDER,a; false",
		"etc/conda/activate.d/c.sh": "export ORDER=$ORDER,c", "etc/conda/activate.d/d.fish": "if",
	})
	modules := prefix(t, "modules", map[string]string{
		"init/bash": `module() { [ "$2" != bad ] || { echo "no such module" >&2; return 1; }; export ORDER="$*" PATH=/module/bin:$PATH; }`,
	})
	if err := os.Symlink("bash", modules+"/init/sh"); err != nil {
		t.Fatal(err)
	}
	s := reporter(t)
	s.Env = []string{"MODULESHOME=" + modules, "PATH=/usr/bin:/bin"}
	s.Setup = contract.Setup{Conda: conda, Modules: []string{"cuda/12", "a b'$(x)"}, Command: "export ORDER=$ORDER,own"}
	r := launch(t, "real", s).received(t)
	expect(t, texts(r.Env), map[string]string{
		"ORDER": "load cuda/12 a b'$(x),a,b:" + conda + ",c,own", "PATH": conda + "/bin:/module/bin:/usr/bin:/bin",
	})
	s.Setup.Modules = []string{"bad"}
	if l := launch(t, "real", s); l.status != 223 || !strings.Contains(l.stderr, "no such module\n") ||
		!strings.Contains(l.stderr, "its modules could not be loaded: exit status 1") {
		t.Errorf("%+v", l)
	}
}

// Without a device filter the last message says so, and the command gets the machine's numbers.
func TestSetupWithoutFilter(t *testing.T) {
	s := reporter(t)
	s.RequireFilter, s.Setup.Command = false, "true"
	s.GPUs = []contract.GPU{{Index: 6, Minor: 3, UUID: "GPU-a"}}
	l := launch(t, "exposed", s)
	if want := []string{"STATUS=" + contract.StatusUnfiltered, silence}; !slices.Equal(l.notes, want) {
		t.Errorf("notes %q", l.notes)
	}
	expect(t, texts(l.received(t).Env), map[string]string{"CUDA_VISIBLE_DEVICES": "6"})
}

// Others can't see the set-up in the list of processes.
func TestSetupIsNotInTheArguments(t *testing.T) {
	s := command(t, "true")
	s.Setup.Command = "/usr/bin/tr '\\0' '\\n' </proc/$$/cmdline # s3cret"
	if l := launch(t, "real", s); l.stdout == "" || strings.Contains(l.stdout, "s3cret") {
		t.Errorf("%+v", l)
	}
}

// The script works in each shell that may run it.
func TestSetupScriptInEveryShell(t *testing.T) {
	for _, shell := range []string{"/bin/sh", "/bin/bash"} {
		if unix.Access(shell, unix.X_OK) != nil {
			t.Fatalf("%s is missing", shell)
		}
		for setup, want := range map[string]string{"A='b c'; export A": "--next", "exit 4": "--setup-failed=command:4", "if": "--setup-failed=command:2"} {
			cmd := exec.Command(shell, "-c", setupScript, "x", "/bin/echo", "spec", "--next", "", "", "", "")
			cmd.Env = []string{setupVariable + "=" + setup}
			out, err := cmd.Output()
			if err != nil || string(out) != want+" spec\n" {
				if !(setup == "if" && strings.HasPrefix(string(out), "--setup-failed=command:")) {
					t.Errorf("%s, %q: %q, %v", shell, setup, out, err)
				}
			}
		}
	}
}

// A shell's errors count the lines of the user's command from 1.
func TestSetupCountsTheUsersLines(t *testing.T) {
	for _, shell := range contract.SetupShells() {
		if _, err := os.Stat(shell); err != nil {
			continue
		}
		cmd := exec.Command(shell, "-c", setupScript, "gpusched-setup", "/bin/true", "spec", "next", "", "", "")
		cmd.Env = []string{"PATH=/usr/bin:/bin", setupVariable + "=true\nno-such-program"}
		out, err := cmd.CombinedOutput()
		if err != nil || !regexp.MustCompile(`^gpusched-setup: (line )?2: .*no-such-program`).Match(out) {
			t.Errorf("%s: %v, %s", shell, err, out)
		}
	}
}
