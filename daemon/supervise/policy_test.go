package supervise

import (
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// CPUs that go offline are no longer promised to jobs until they are online again. If the CPUs
// can't be counted, nothing changes.
func TestCPUsThatComeAndGo(t *testing.T) {
	var log tape
	online, fails := 16, error(nil)
	s := &instance{countCPUs: func() (int, error) { return online, fails }}
	s.Supervisor = New(Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Level: new(slog.LevelVar)})
	if first, err := s.settings(config.Default()); err != nil || first.Policy.HostCPUs != 16 {
		t.Fatalf("%d CPUs, %v", first.Policy.HostCPUs, err)
	}
	for _, c := range []struct {
		online int
		fails  error
		want   []int
	}{
		{16, nil, nil}, {8, nil, []int{8}}, {8, nil, nil}, {0, errors.New("no such file"), nil}, {16, nil, []int{16}},
	} {
		var got []int
		online, fails = c.online, c.fails
		s.recount(func(now daemon.Settings) { got = append(got, now.Policy.HostCPUs) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%d online, %v: put in force with %v CPUs, want %v", c.online, c.fails, got, c.want)
		}
	}
	if n := strings.Count(log.String(), "the number of CPUs has changed"); n != 2 {
		t.Errorf("told %d times:\n%s", n, log.String())
	}
}

// policySettings differs from the defaults in each setting that TestPolicy checks.
const policySettings = `
[jobs]
max_suspend = "20m"
max_retries = 3
max_mem = "9G"
allowed_paths = ["/srv"]
default_backoff = "7s"
default_on_timeout = "requeue"
[class.low]
max_time = "3h"
[class.high]
[scheduling]
policy = "fifo"
half_life = "1d"
guard_after = "2d"
guard_percent = 20
reservation_depth = 4
slice = "1h"
restart_cost = "10m"
[quota.default]
jobs = 5
[quota.user.alice]
gpus = 1.5
[quota.group.lab]
gpu_hours = 6
[gpus]
max_load = 0.8
max_used = 90
min_free_memory = "10G"
cpu_affinity = false
[gpu_memory]
policy = "enforce"
tolerance = "1G"
grace = "2m"
[idle]
action = "park"
after = "1h"
grace = "5m"
[park]
allow = true
max_memory = "25%"
`

// TestPolicy: each setting gets into the policy's field of the same name.
func TestPolicy(t *testing.T) {
	cfg, _, err := config.Parse("f", []byte(policySettings))
	if err != nil {
		t.Fatal(err)
	}
	p := policy(cfg, 64<<30, 16)
	if p.MaxSuspend != 20*time.Minute || p.MaxRetries != 3 || p.DefaultBackoff != 7*time.Second || p.DefaultOnTimeout != job.TimeoutRequeue || p.CPUAffinity {
		t.Errorf("got %+v", p)
	}
	if want := (site.UsagePolicy{Memory: site.WarnAndStop, Tolerance: 1 << 30, MemoryGrace: 2 * time.Minute, Idle: site.WarnAndPark, IdleAfter: time.Hour, IdleGrace: 5 * time.Minute}); p.Usage != want {
		t.Errorf("got %+v", p.Usage)
	}
	if want := (site.ParkPolicy{Allow: true, MaxBytes: p.HostMemBytes / 4}); p.Park != want {
		t.Errorf("got %+v, want %+v", p.Park, want)
	}
	if p.MaxMemBytes != 9<<30 || !slices.Equal(cfg.Jobs.AllowedPaths, []string{"/srv"}) || cfg.Limits != config.Default().Limits {
		t.Errorf("got %d, %+v, %+v", p.MaxMemBytes, cfg.Jobs, cfg.Limits)
	}
	if want := map[job.Class]time.Duration{job.Low: 3 * time.Hour}; !reflect.DeepEqual(p.ClassMaxTime, want) {
		t.Errorf("classes %v", p.ClassMaxTime)
	}
	if want := (sched.Policy{FIFO: true, HalfLife: 24 * time.Hour, GuardAfter: 48 * time.Hour, GuardPercent: 20, ReservationDepth: 4, Patience: sched.DefaultPatience,
		Slice: time.Hour, RestartCost: 10 * time.Minute, MaxLoadPercent: 80, MaxUsedPercent: 90, MinFreeBytes: 10 << 30}); p.Sched != want {
		t.Errorf("got %+v, want %+v", p.Sched, want)
	}
	most := job.Part{Percent: 80}
	if want := (job.Quotas{
		Default: job.Quota{Running: 5, Mem: most, CPUs: most, Queued: 20_000, Share: 1},
		Users:   map[string]job.Quota{"alice": {GPUMilli: 1500, Running: 5, Mem: most, CPUs: most, Queued: 20_000, Share: 1}},
		Groups:  map[string]job.Quota{"lab": {GPUHours: 6}},
	}); !reflect.DeepEqual(p.Quotas, want) {
		t.Errorf("got %+v, want %+v", p.Quotas, want)
	}
	if names := cfg.QuotaGroups(); !slices.Equal(names, []string{"lab"}) {
		t.Errorf("groups %v", names)
	}
}

// Jobs that do not ask for memory get a default amount. However much memory the site reserves, one
// user's jobs on all GPUs fit into the default quota, and leave part of the memory to other users.
func TestDefaultMemoryFitsIntoTheQuota(t *testing.T) {
	for _, percent := range []int{0, 5, 10, 40, 90} {
		cfg := config.Default()
		cfg.Daemon.HostMemReserve = config.Share{Percent: percent}
		p := policy(cfg, 512<<30, 64)
		for _, gpus := range []int{1, 3, 8} {
			each, may := p.DefaultMem(job.WholeGPU, gpus), p.Quotas.Default.Mem.Of(p.HostMemBytes)
			if each*int64(gpus) > may || may >= p.HostMemBytes {
				t.Errorf("%d %% kept: %d on each of %d GPUs, of %d, of %d", percent, each, gpus, may, p.HostMemBytes)
			}
		}
	}
}

// TestPolicyDefault checks the policy of a site without settings files.
func TestPolicyDefault(t *testing.T) {
	p := policy(config.Default(), 64<<30, 16)
	week := 7 * 24 * time.Hour
	if want := (sched.Policy{HalfLife: week, GuardAfter: week, GuardPercent: 50, ReservationDepth: 1, Patience: sched.DefaultPatience, Slice: 30 * time.Minute, RestartCost: 5 * time.Minute,
		MaxLoadPercent: 100, MaxUsedPercent: 100}); p.Sched != want {
		t.Errorf("got %+v, want %+v", p.Sched, want)
	}
	if p.Usage.Memory != site.Warn || p.Usage.Idle != site.Warn || p.Usage.IdleAfter != 30*time.Minute {
		t.Errorf("got %+v", p.Usage)
	}
	if p.MaxSuspend != time.Hour || p.MaxRetries != 10 || p.DefaultBackoff != 5*time.Second || p.DefaultOnTimeout != job.TimeoutKill || !p.CPUAffinity || !p.Hints || p.ScratchKeep != 24*time.Hour || p.HostCPUs != 16 || p.GPUCPUs != 12 || len(p.Quotas.Users)+len(p.Quotas.Groups)+len(p.ClassMaxTime) > 0 {
		t.Errorf("got %+v", p)
	}
}
