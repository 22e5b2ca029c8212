package supervise

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
)

// If Slurm gets more GPUs at run time, the daemon notices this without a reload, and health names
// the GPUs. If Slurm's files become unreadable, Slurm keeps its GPUs.
func TestSlurmTakesGPUs(t *testing.T) {
	var log tape
	root := t.TempDir()
	conf := filepath.Join(root, "etc/slurm/gres.conf")
	put := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(root, "etc/passwd"), "")
	var uncounted error
	s := &instance{countCPUs: func() (int, error) { return 4, uncounted }}
	s.slurm.reader.Root, s.slurm.reader.Own = root, config.AnyOwner
	s.Supervisor = New(Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Level: new(slog.LevelVar)})
	cfg := config.Default()
	settings, err := s.settings(cfg)
	if got := settings.Policy.SlurmGPUs; err != nil || got.Every || got.Minors != nil {
		t.Fatalf("without a Slurm: %+v, %v", got, err)
	}
	expect := func(what string, changes int, minors string, health job.Health, words ...string) {
		t.Helper()
		put := 0
		s.recount(func(now daemon.Settings) { settings = now; put++ })
		c := s.slurm.check(s.cfg.Load())
		if got := job.FormatGPUList(settings.Policy.SlurmGPUs.Minors); put != changes || got != minors || c.Health != health {
			t.Errorf("%s: put in force %d times, minors %q, %+v", what, put, got, c)
		}
		for _, w := range words {
			if !strings.Contains(c.Detail+" "+c.Next, w) {
				t.Errorf("%s: health does not say %q: %+v", what, w, c)
			}
		}
	}
	expect("nothing there", 0, "-", job.Healthy, "no slurmd")
	put(conf, "Name=gpu File=/dev/nvidia[0-1]\n")
	expect("not enabled", 0, "-", job.Healthy, "no slurmd")
	put(filepath.Join(root, "etc/systemd/system/multi-user.target.wants/slurmd.service"), "")
	expect("enabled", 1, "0,1", job.Healthy, "/dev/nvidia0, /dev/nvidia1", "/etc/slurm/gres.conf", `gpus.slurm = "allow"`)
	put(conf, "Name=gpu File=/dev/nvidia1\n")
	uncounted = errors.New("no such file")
	expect("less, and nothing can be put in force", 0, "0,1", job.Healthy, "/dev/nvidia1")
	uncounted = nil
	expect("less", 1, "1", job.Healthy, "/dev/nvidia1")
	put(conf, "include /proc/version\n")
	expect("spoilt", 0, "1", job.Degraded, "not below /etc", "/dev/nvidia1", "gpus.only")
	cfg.GPUs.Slurm = config.SlurmAllow
	s.Supervisor.applySettings(cfg, config.Snapshot{})
	put(conf, "Name=gpu File=/dev/nvidia[0-1]\n")
	expect("allowed", 1, "-", job.Healthy, "both may use the same one")
	if n := strings.Count(log.String(), "Slurm's GPUs have changed"); n != 3 {
		t.Errorf("told %d times:\n%s", n, log.String())
	}
}

// If slurmd runs and its settings can't be read, all GPUs count as Slurm's own, until an
// administrator says that both schedulers share them.
func TestASlurmOfWhichNobodyKnows(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"etc", "sys/fs/cgroup/system.slice/slurmd.service"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := &instance{countCPUs: func() (int, error) { return 4, nil }}
	s.slurm.reader.Root = root
	for mode, want := range map[config.SlurmGPUs]struct {
		every  bool
		health job.Health
	}{config.SlurmExclude: {true, job.Degraded}, config.SlurmAllow: {false, job.Healthy}} {
		cfg := config.Default()
		cfg.GPUs.Slurm = mode
		settings, err := s.settings(cfg)
		c := s.slurm.check(&cfg)
		if got := settings.Policy.SlurmGPUs; err != nil || got.Every != want.every || c.Health != want.health {
			t.Errorf("%s: %+v, %v, %+v", mode, got, err, c)
		}
		for _, word := range []string{"not in /etc/slurm", `gpus.slurm = "allow"`} {
			if !strings.Contains(c.Detail+c.Next, word) {
				t.Errorf("%s: %q is not told: %+v", mode, word, c)
			}
		}
	}
}
