package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// standIn is a program in place of an engine. It records its arguments. An image exists if there is
// a file "image". If there is a file "stuck", the program refuses all commands but a migration, as
// Podman does after a kill.
const standIn = `#!/bin/sh
dir=${0%/*}
for word; do case $word in --*) ;; *) said="$said $word";; esac; done
echo "${0##*/}$said" >> "$dir/calls"
case "$said" in *"system migrate"*) rm -f "$dir/stuck"; exit 2;; esac
if [ -e "$dir/stuck" ]; then echo 'invalid internal status, try "podman system migrate"' >&2; exit 1; fi
case "$said" in
*" image exists"*) [ -e "$dir/image" ];;
*" pull"*) echo "copying layers"; [ -e "$dir/registry" ];;
*" run "* | *" exec "*) echo "bus $DBUS_SESSION_BUS_ADDRESS, dir $XDG_RUNTIME_DIR, key $KEY$APPTAINERENV_KEY"; exit 7;;
esac
`

// inMemory returns the directory of the user's containers.
func inMemory(dir string) string { return filepath.Join(dir, contract.ContainersDir, "1") }

// engines creates the stand-ins, with the files that change what they do.
func engines(t *testing.T, files ...string) (dir string, inUnit func(*exec.Cmd)) {
	dir = t.TempDir()
	for _, name := range []string{"podman", "apptainer"} {
		write(t, filepath.Join(dir, name), 0o755, standIn)
	}
	for _, name := range files {
		write(t, filepath.Join(dir, name), 0o644, "")
	}
	if err := os.MkdirAll(inMemory(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir, func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "PATH="+dir+":/usr/bin:/bin", "RUNTIME_DIRECTORY="+inMemory(dir), "DBUS_SESSION_BUS_ADDRESS=unix:/session")
	}
}

func calls(t *testing.T, dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// The launcher becomes the engine, after it has mended what a kill left, and pulled an image that
// is not there. The job ends with the engine's exit status.
func TestContain(t *testing.T) {
	const inside = "bus unix:path=/nonexistent, dir DIR, key secret\n"
	const missing = "podman image exists img\npodman pull img\n"
	for name, c := range map[string]struct {
		engine               contract.Engine
		files                []string
		calls, stdout, notes string
		status               int
	}{
		"ready":   {contract.Podman, []string{"image"}, "podman image exists img\npodman run img cmd arg\n", inside, contract.StatusBegun, 7},
		"pulled":  {contract.Podman, []string{"registry"}, missing + "podman run img cmd arg\n", "copying layers\n" + inside, contract.StatusBegun, 7},
		"no pull": {contract.Podman, nil, missing, "copying layers\n", contract.StatusPrefix + "container", contract.StepContainer.ExitStatus()},
		"stuck": {
			contract.Podman, []string{"image", "stuck"},
			"podman image exists img\npodman system migrate\npodman image exists img\npodman run img cmd arg\n", inside, contract.StatusBegun, 7,
		},
		"apptainer": {
			contract.Apptainer, nil, "apptainer exec /home/alice:/home/alice / img cmd arg\n",
			"bus , dir , key secret\n", contract.StatusBegun, 7,
		},
	} {
		dir, inUnit := engines(t, c.files...)
		s := command(t, "cmd", "arg")
		s.Dir, s.EnvMode, s.Env = "/", contract.EnvClean, []string{"KEY=secret"}
		s.Container = contract.Container{Engine: c.engine, Image: "img"}
		got := launch(t, "real", s, inUnit)
		printed := strings.ReplaceAll(got.stdout, inMemory(dir), "DIR")
		if calls := calls(t, dir); calls != c.calls || printed != c.stdout || got.status != c.status {
			t.Errorf("%s: %d, calls %q\nprinted %q, %q", name, got.status, calls, got.stdout, got.stderr)
		}
		if notes := strings.Join(got.notes, " "); !strings.Contains(notes, c.notes) {
			t.Errorf("%s: %q", name, notes)
		}
	}
	s := command(t, "cmd")
	s.Container = contract.Container{Engine: "other", Image: "img"}
	if got := launch(t, "real", s); got.status != contract.StepSpec.ExitStatus() {
		t.Errorf("another engine: %d, %q", got.status, got.stderr)
	}
	s.Container.Engine = contract.Podman
	if got := launch(t, "real", s); got.status != contract.StepContainer.ExitStatus() || !strings.Contains(got.stderr, "can't be run") {
		t.Errorf("no Podman: %d, %q", got.status, got.stderr)
	}
}

// After the job, its container is removed, unless Podman has removed it.
func TestContainerEnd(t *testing.T) {
	const remove = "podman rm gpujob-42-1\n"
	for name, c := range map[string]struct {
		list  string
		files []string
		end   []string // what systemd says of the main process
		want  string
	}{
		"gone":          {`[{"names":["gpujob-42-11"]}]`, nil, []string{"EXIT_CODE=exited", "EXIT_STATUS=3"}, ""},
		"killed":        {`[{"names":["gpujob-42-11"]}]`, nil, []string{"EXIT_CODE=killed", "EXIT_STATUS=KILL"}, remove},
		"stopped":       {`[{"names":["gpujob-42-11"]}]`, nil, []string{"EXIT_CODE=exited", "EXIT_STATUS=143"}, remove},
		"Podman killed": {`[{"names":["gpujob-42-11"]}]`, nil, []string{"EXIT_CODE=exited", "EXIT_STATUS=137"}, remove},
		"there":         {`[{"names":["gpujob-42-1"]}]`, nil, nil, remove},
		"stuck":         {`[{"names":["gpujob-42-1"]}]`, []string{"stuck"}, nil, remove + "podman system migrate\n" + remove},
	} {
		dir, inUnit := engines(t, c.files...)
		s := command(t, "cmd")
		s.JobID, s.Attempt = 42, 1
		s.Container = contract.Container{Engine: contract.Podman, Image: "img", Driver: "vfs", Store: dir}
		b := &box{Container: s.Container, runtime: inMemory(dir)}
		lists := filepath.Join(b.store(), "vfs-containers")
		if err := os.MkdirAll(lists, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(lists, "containers.json"), 0o644, c.list)
		path := mustWrite(t, specDir(t), 42, s)
		b.keepForEnd(s, path)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		got := launchPath(t, "real", path, inUnit, func(cmd *exec.Cmd) {
			cmd.Args = slices.Insert(cmd.Args, 1, contract.ContainerEndFlag)
			cmd.Env = append(cmd.Env, c.end...)
		})
		if left, _ := os.ReadDir(inMemory(dir)); len(left) > 0 {
			t.Errorf("%s: %v is left", name, left)
		}
		if calls := calls(t, dir); got.status != 0 || calls != c.want {
			t.Errorf("%s: %d, %q, %q", name, got.status, calls, got.stderr)
		}
	}
}

// The next start removes the containers that killed jobs left, but no container of a running job.
func TestContainersAreSwept(t *testing.T) {
	dir, inUnit := engines(t, "image")
	s := command(t, "cmd")
	s.JobID, s.Attempt = 42, 1
	s.Dir, s.EnvMode = "/", contract.EnvClean
	s.Container = contract.Container{Engine: contract.Podman, Image: "img"}
	b := &box{runtime: inMemory(dir)}
	for _, id := range []int64{7, 8} {
		dead := *s
		dead.JobID = id
		write(t, b.keptForEnd(Path("", id, 1)), 0o600, string(Encode(&dead)))
	}
	write(t, b.keptForEnd(Path("", 9, 1)), 0o600, "") // of a launcher that has just begun
	alive, err := os.Open(b.keptForEnd(Path("", 8, 1)))
	if err == nil {
		err = unix.Flock(int(alive.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	launch(t, "real", s, inUnit)
	if got, want := calls(t, dir), "podman image exists img\npodman rm gpujob-7-1\npodman run img cmd\n"; got != want {
		t.Errorf("calls %q", got)
	}
	left, _ := filepath.Glob(inMemory(dir) + "/*.1")
	if len(left) != 3 {
		t.Errorf("%q are left", left)
	}
}

// Inside returns a function only for a job with a container.
func TestInside(t *testing.T) {
	s := command(t, "cmd")
	if Inside(mustWrite(t, specDir(t), 42, s), unitBase) != nil {
		t.Error("a job without a container has an entrance")
	}
	s.Container = contract.Container{Engine: contract.Apptainer, Image: "img"}
	enter := Inside(mustWrite(t, specDir(t), 42, s), unitBase)
	argv, env := enter(true, "xterm")
	if len(argv) < 3 || argv[0] != "apptainer" || argv[len(argv)-1] != "img" {
		t.Errorf("%q", argv)
	}
	expect(t, env, map[string]string{"APPTAINERENV_TERM": "xterm"})
}
