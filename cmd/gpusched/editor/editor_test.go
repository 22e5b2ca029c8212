package editor

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// A session gets the job's variables. Those of other sessions, and values that sshd could read
// differently, are left out.
func TestSettings(t *testing.T) {
	text := settings("/home/a b/key", []string{
		"CUDA_VISIBLE_DEVICES=0", "NAME=with blanks # and $X", "EMPTY=", "HOME=/elsewhere", "SSH_CONNECTION=x", "XDG_SESSION_ID=4",
		"QUOTED=a\"b", "BACK=a\\b", "LINES=a\nPermitRootLogin yes", "BASH_FUNC_f%%=() { :; }", "TERM=dumb", "=x", "none",
	})
	if !strings.HasPrefix(text, "HostKey \"/home/a b/key\"\n") ||
		!strings.HasSuffix(text, "\nSetEnv \"CUDA_VISIBLE_DEVICES=0\" \"NAME=with blanks # and $X\" \"EMPTY=\"\n") {
		t.Error(text)
	}
	if text = settings("/k", nil); strings.Contains(text, "SetEnv") {
		t.Error(text)
	}
}

// A job ends if nobody comes, or once it has been unused for long enough.
func TestPresence(t *testing.T) {
	start := time.Now()
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	p := &presence{come: comeTime, idle: 30 * time.Minute, since: start}
	if p.over(at(4), false, forever) || !p.over(at(5), false, 0) || !strings.Contains(p.why(), "within 5m") {
		t.Errorf("nobody came: %+v, %s", p, p.why())
	}
	if p.over(at(6), true, forever) || p.over(at(35), false, forever) || p.over(at(36), false, 10*time.Minute) {
		t.Errorf("in use: %+v", p)
	}
	if !p.over(at(37), false, 31*time.Minute) || !strings.Contains(p.why(), "for 30m") {
		t.Errorf("unused: %+v, %s", p, p.why())
	}
	if p.over(at(38), true, forever) || p.over(at(39), false, forever) {
		t.Errorf("somebody came back: %+v", p)
	}
}

// Proxies with the same name queue their job with the same key, so that only one job is queued. The
// key changes when there is a newer job of that name.
func TestRequestKey(t *testing.T) {
	long := strings.Repeat("n", 200)
	first := requestKey("proxy", long, 1<<62)
	if first != requestKey("proxy", long, 1<<62) || requestKey("p", "a", 1) == requestKey("p", "a", 2) || requestKey("p", "a", 1) == requestKey("p", "b", 1) {
		t.Error("keys differ, or don't")
	}
	if key := requestKey("jupyter", long, 1<<62); len(key) > 64 {
		t.Errorf("%q is too long", key)
	}
}

// A listing answers each question with these jobs.
type listing struct {
	api.Engine
	jobs []api.Job
}

func (l listing) Get(_ context.Context, _ *api.Route, _ string, _, out any) error {
	out.(*api.ListReply).Jobs = l.jobs
	return nil
}

// A job in a container is refused, since the image has neither sshd nor gpusched.
func TestContainerIsNotEntered(t *testing.T) {
	j := api.Job{ID: 7, State: job.Running}
	j.ContainerEngine = contract.Podman
	_, err := new(holder).untilRunning(t.Context(), &cli.App{Session: cli.Session{Client: listing{jobs: []api.Job{j}}}}, "gpusched")
	if err == nil || !strings.Contains(err.Error(), "job 7 runs in a container, which ssh can't enter ('gpusched exec 7 -- bash'") {
		t.Error(err)
	}
}

// The host key is made once, and refused if somebody else could have it (invariant 2).
func TestHostKey(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	a := &cli.App{Env: cli.Env{UID: os.Getuid(), Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}}
	dir := filepath.Join(home, ".config", "gpusched")
	path, err := hostKey(context.Background(), a)
	if err != nil || path != filepath.Join(dir, "ssh_host_ed25519_key") {
		t.Fatal(path, err)
	}
	before, _ := os.ReadFile(path)
	if _, err := hostKey(context.Background(), a); err != nil {
		t.Error(err)
	}
	if after, _ := os.ReadFile(path); len(before) < 100 || string(after) != string(before) {
		t.Error("the key was made again")
	}
	for _, c := range []struct {
		file string
		mode os.FileMode
	}{{path, 0o640}, {dir, 0o777}, {filepath.Dir(dir), 0o777}} {
		info, err := os.Stat(c.file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(c.file, c.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := hostKey(context.Background(), a); err == nil {
			t.Errorf("%s with mode %o is accepted", c.file, c.mode)
		}
		if err := os.Chmod(c.file, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".ssh-*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
