package config

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units/contract"
)

// write makes files with these contents in a new directory. It returns their paths in order.
func write(t *testing.T, contents ...string) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for i, c := range contents {
		path := filepath.Join(dir, string(rune('a'+i))+".toml")
		if err := os.WriteFile(path, []byte(c), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func TestEveryKeyIsRead(t *testing.T) {
	want := Config{
		Jobs: Jobs{DefaultMem: DefaultMem{Kind: MemFixed, Bytes: 16 << 30}, DefaultTime: 2 * time.Hour, MaxTime: 36 * time.Hour,
			DefaultGrace: time.Minute, MaxGrace: 5 * time.Minute, MaxMem: 64 << 30, MemReturn: MemReturn{20, 10 * time.Minute}, AllowedPaths: []string{"/srv/scripts", "/home/*/jobs"}, CPUs: job.Part{Percent: 80}, DefaultCPUs: job.Part{Amount: 12}, TasksMax: 100, MaxSuspend: 2 * time.Hour, MaxRunning: 2, ShareWithoutGPU: 40, MaxQueued: 3, AllowRaisedPriority: true, Snapshot: SnapshotScript, AllowSandboxed: true, Scratch: "/nvme/jobs", ScratchKeep: 2 * time.Hour, Log: "%h/logs/%j.log",
			MaxRetries: 7, DefaultRetries: 2, DefaultBackoff: time.Minute, DefaultOnTimeout: job.TimeoutRequeue},
		Classes:    map[job.Class]Class{job.Low: {MaxTime: 3 * time.Hour}},
		Scheduling: Scheduling{Policy: OrderFIFO, HalfLife: day, GuardPercent: 20, ReservationDepth: 4, Slice: time.Hour, RestartCost: 10 * time.Minute},
		Quotas: job.Quotas{
			Default: job.Quota{GPUMilli: 1500, Running: 5, Mem: job.Part{Percent: 60}, CPUs: job.Part{Amount: 24}, Queued: 7, GPUHours: 100, Share: 3},
			Users:   map[string]job.Quota{"alice": {Running: 5, Mem: job.Part{Percent: 60}, CPUs: job.Part{Amount: 24}, Queued: 7, GPUHours: 100, Share: 9}},
			Groups:  map[string]job.Quota{"lab": {GPUMilli: 6000, Mem: job.Part{Amount: 100 << 30}, CPUs: job.Part{Percent: 50}, Share: 4}},
		},
		Lanes: map[string]int{"matlab": 2},
		GPUs: GPUs{SampleInterval: time.Second, SampleTimeout: 2 * time.Second, Only: []int{0, 3}, SmallestPart: 250, PartsOn: []int{3}, ExtraDevices: []string{"/dev/fuse"},
			DeviceFilter: FilterPrefer, Slurm: SlurmAllow, Strays: StrayKeep, Strangers: StrangersEnd, StrangersAfter: 10 * time.Minute, DrainBadMemory: BadMemoryPending, DriverCheck: false, CUDATest: false, CheckUnit: "gpusched-check@.service", CleaningTimeout: 3 * time.Second, AlertUnit: "gpusched-alert@.service", NVMLLibrary: "/opt/libnvidia-ml.so.1",
			MaxLoad: 80, LoadWindow: 30 * time.Second, MaxUsed: 90, MinFreeMemory: 10 << 30, MaxForeign: 1 << 30},
		GPUMemory:  GPUMemory{MemoryEnforce, 1 << 30, 2 * time.Minute},
		Idle:       Idle{IdleStop, time.Hour, 5 * time.Minute},
		Park:       Park{Allow: true, Preempt: true, MaxMemory: job.Part{Amount: 128 << 30}},
		Notify:     Notify{Ways: []job.NotifyWay{job.NotifyTerminal}, Webhooks: map[string]string{"chat": "https://chat.example.org/x"}, WebhookInterval: time.Minute},
		Containers: Containers{Engines: []contract.Engine{contract.Docker}},
		Xids:       gpu.XidClasses{Job: []int{1, 2, 3, 13, 45}, Reset: []int{48}, Reboot: []int{79}},
		Limits:     Limits{Requests: 9, Burst: 20, AtOnce: 3, Connections: 64, UserConns: 32, UserWaits: 8, RequestBytes: 1 << 20, UserState: 100 << 20, UserHistory: 1 << 30, HistoryAge: 365 * 24 * time.Hour},
		Metrics:    Metrics{Users: 20},
		Daemon:     Daemon{LogLevel: slog.LevelDebug, StartsInFlight: 5, AdminGroup: "wheel", HostMemReserve: Share{Bytes: 8 << 30}, Inhibit: InhibitShutdown},
	}
	got, origins, err := Read([]string{"testdata/every-key.toml"}, AnyOwner)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for _, s := range sections() { // so that this test cannot miss a new key
		for _, k := range s.keysOf("") {
			if _, ok := origins[k.full()]; !ok && s.placeholder == "" {
				t.Errorf("%s is not in the test's file", k.full())
			}
		}
		if used := s.inUse(&got); len(used) != 1 {
			t.Errorf("[%s] is %d times in the test's file", s.name(), len(used))
		}
	}
	if reflect.DeepEqual(got.Jobs, Default().Jobs) || origins["jobs.default_mem"].Line != 3 {
		t.Errorf("origin %v", origins["jobs.default_mem"])
	}
}

// A later file wins, key by key (invariant 5).
func TestLaterFilesWinKeyByKey(t *testing.T) {
	paths := write(t,
		"[jobs]\nmax_running = 1\nmax_queued = 10\n",
		"jobs.max_running = 2\n",
		"jobs = { tasks_max = 50 }\n")
	cfg, origins, err := Read(paths, AnyOwner)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Jobs.MaxRunning != 2 || cfg.Jobs.MaxQueued != 10 || cfg.Jobs.TasksMax != 50 {
		t.Errorf("got %+v", cfg.Jobs)
	}
	want := Origins{
		"jobs.max_running": {paths[1], 1, 1},
		"jobs.max_queued":  {paths[0], 3, 1},
		"jobs.tasks_max":   {paths[2], 1, 10},
	}
	if !reflect.DeepEqual(origins, want) {
		t.Errorf("origins %v, want %v", origins, want)
	}
}

// If jobs.max_running is above 1, one user's jobs may not take all places, unless the site sets
// another quota. Show prints the resulting quota as a number.
func TestQuotaOfJobsFollowsThePlaces(t *testing.T) {
	for places, want := range map[int]int{1: 1, 2: 1, 5: 4, 9: 8, 20: 8, 32: 8, 33: 9, 400: 100, 100_000: 25_000} {
		cfg, origins, err := Parse("f", fmt.Appendf(nil, "[jobs]\nmax_running = %d\n[quota.user.bob]\ngpus = 1\n[quota.user.ann]\njobs = 7\n", places))
		q := cfg.Quotas
		if err != nil || q.Default.Running != want || q.Users["bob"].Running != want || q.Users["ann"].Running != 7 {
			t.Errorf("of %d places: %+v, %v, want %d", places, q, err, want)
		}
		if shown := Show(cfg, origins); !strings.Contains(shown, fmt.Sprintf("\njobs = %d  # f:2, jobs.max_running\n", want)) {
			t.Errorf("of %d places:\n%s", places, shown)
		}
	}
	cfg, _, err := Parse("f", []byte("jobs.max_running = 4\nquota.default.jobs = \"none\"\n"))
	if err != nil || cfg.Quotas.Default.Running != 0 {
		t.Errorf("where it is set: %+v, %v", cfg.Quotas, err)
	}
}

// Invariant 5 for named sections: if a user's section leaves out a key, the user gets the default.
// The last file that sets the default decides.
func TestLaterFilesWinInNamedSections(t *testing.T) {
	paths := write(t,
		"[quota.user.alice]\ngpus = 2\njobs = 3\n[quota.group.lab]\ngpus = 8\n[class.low]\nmax_time = \"1h\"\n",
		"quota.user.alice.gpus = 4\n[quota.group.lab]\njobs = 9\n[quota.user.\"first.last\"]\n",
		"[quota]\ndefault.queued = 5\nuser = { bob = { queued = \"none\" } }\n[class.low]\n")
	cfg, origins, err := Read(paths, AnyOwner)
	if err != nil {
		t.Fatal(err)
	}
	most := job.Part{Percent: 80}
	want := job.Quotas{
		Default: job.Quota{Running: 250, Mem: most, CPUs: most, Queued: 5, Share: 1},
		Users: map[string]job.Quota{"alice": {GPUMilli: 4000, Running: 3, Mem: most, CPUs: most, Queued: 5, Share: 1},
			"bob":        {Running: 250, Mem: most, CPUs: most, Share: 1},
			"first.last": {Running: 250, Mem: most, CPUs: most, Queued: 5, Share: 1}},
		Groups: map[string]job.Quota{"lab": {GPUMilli: 8000, Running: 9}},
	}
	if !reflect.DeepEqual(cfg.Quotas, want) {
		t.Errorf("got  %+v\nwant %+v", cfg.Quotas, want)
	}
	if cfg.Classes[job.Low].MaxTime != time.Hour || origins["quota.user.alice.gpus"].File != paths[1] || origins["quota.user.alice.jobs"].File != paths[0] {
		t.Errorf("got %+v, %v", cfg.Classes, origins)
	}
	if got := cfg.QuotaGroups(); !reflect.DeepEqual(got, []string{"lab"}) {
		t.Errorf("groups %v", got)
	}
	shown := Show(cfg, origins)
	for _, want := range []string{
		"[quota.user.\"first.last\"]\ngpus = \"none\"  # default\n",
		"queued = 5  # " + paths[2] + ":2, quota.default.queued\n",
		"queued = \"none\"  # " + paths[2] + ":3\n",
		"gpus = 4  # " + paths[1] + ":1\n",
		"[class.low]\nmax_time = \"1h\"  # " + paths[0] + ":7\n",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in:\n%s", want, shown)
		}
	}
}

// A file that consists only of sections takes no more than a moment.
func TestManyNamedSections(t *testing.T) {
	var b strings.Builder
	for i := 0; b.Len() < MaxFileBytes-40; i++ {
		fmt.Fprintf(&b, "quota.user.u%d.jobs = 1\n", i)
	}
	cfg, _, err := Parse("many", []byte(b.String()))
	if err != nil || len(cfg.Quotas.Users) < 9000 {
		t.Errorf("got %d users, %v", len(cfg.Quotas.Users), err)
	}
}

func TestAKeyThatIsSetRightLaterIsStillReported(t *testing.T) {
	_, _, err := Read(write(t, "[jobs]\nmax_running = 0\n", "[jobs]\nmax_running = 5\n"), AnyOwner)
	if err == nil || strings.Count(err.Error(), "\n") != 0 {
		t.Errorf("got %v, want the one problem of the first file", err)
	}
}

func TestNoFilesIsTheDefault(t *testing.T) {
	cfg, origins, err := Load(nil)
	if err != nil || !reflect.DeepEqual(cfg, Default()) || len(origins) != 0 {
		t.Errorf("got %+v, %v, %v", cfg, origins, err)
	}
}

func TestFilesInOrder(t *testing.T) {
	dir := t.TempDir()
	drop := filepath.Join(dir, "conf.d")
	if err := os.Mkdir(drop, 0o755); err != nil {
		t.Fatal(err)
	}
	main := filepath.Join(dir, "gpusched.toml")
	for _, name := range []string{"20-b.toml", "10-a.toml", "10-a.toml~", ".hidden.toml", "README", "5.toml.dpkg-old", "30.conf", "40.toml.txt",
		"50.TOML", ".conf"} {
		if err := os.WriteFile(filepath.Join(drop, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name      string
		main, dir string
		want      []string
	}{
		{"no main file", main, drop, []string{drop + "/10-a.toml", drop + "/20-b.toml"}},
		{"nothing", main, dir + "/absent", nil},
	} {
		got, err := Files(tt.main, tt.dir)
		if err != nil || !reflect.DeepEqual(append([]string(nil), got...), tt.want) {
			t.Errorf("%s: got %v, %v", tt.name, got, err)
		}
	}
	if err := os.WriteFile(main, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := Files(main, drop); err != nil || len(got) != 3 || got[0] != main {
		t.Errorf("got %v, %v", got, err)
	}
	want := []string{drop + "/30.conf", drop + "/40.toml.txt", drop + "/50.TOML"}
	if got := Misnamed(drop); !slices.Equal(got, want) || Misnamed(dir+"/absent") != nil {
		t.Errorf("misnamed are %v", got)
	}
	if _, err := Files(main, main); err == nil {
		t.Error("a file in the place of the directory is not reported")
	}
}

// Only files that root alone can change are read (invariant 4).
func TestOnlyFilesOfRoot(t *testing.T) {
	type file struct {
		uid, gid uint32
		mode     fs.FileMode
	}
	for _, tt := range []struct {
		name string
		file file
		bad  string
	}{
		{"root's", file{0, 0, 0o644}, ""},
		{"root's, private", file{0, 0, 0o600}, ""},
		{"root's group may write", file{0, 0, 0o664}, ""},
		{"a user's", file{1001, 0, 0o600}, "uid 1001"},
		{"a group may write", file{0, 27, 0o664}, "group 27"},
		{"a group may read", file{0, 27, 0o640}, ""},
		{"all may write", file{0, 0, 0o646}, "everybody can write"},
	} {
		err := RootOnly(fakeInfo{mode: tt.file.mode, sys: &syscall.Stat_t{Uid: tt.file.uid, Gid: tt.file.gid}})
		if (err == nil) != (tt.bad == "") || (err != nil && !strings.Contains(err.Error(), tt.bad)) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.bad)
		}
	}
	if RootOnly(fakeInfo{}) == nil {
		t.Error("an unknown owner is trusted")
	}
}

type fakeInfo struct {
	fs.FileInfo
	mode fs.FileMode
	sys  any
}

func (f fakeInfo) Mode() fs.FileMode { return f.mode }
func (f fakeInfo) Sys() any          { return f.sys }

// A file that can't be read gives an error and no Config (invariants 1, 2 and 4).
func TestFilesThatAreNotRead(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo.toml")
	if err := syscall.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(dir, "large.toml")
	if err := os.WriteFile(large, []byte(strings.Repeat("#", MaxFileBytes+1)), 0o644); err != nil {
		t.Fatal(err)
	}
	refused := write(t, "[jobs]\nmax_running = 3\n")[0]
	absent := filepath.Join(dir, "absent.toml")
	owner := func(info fs.FileInfo) error {
		if info.Name() == filepath.Base(refused) {
			return errors.New("it is not root's")
		}
		return nil
	}
	cfg, origins, err := Read([]string{fifo, dir, large, absent, refused}, owner)
	want := fifo + ": cannot be read: it is not a regular file (p---------)\n" +
		dir + ": cannot be read: it is a directory\n" +
		large + ": cannot be read: it has more than 262144 bytes\n" +
		absent + ": cannot be read: no such file or directory\n" +
		refused + ": cannot be read: it is not root's"
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
	if !reflect.DeepEqual(cfg, Config{}) || origins != nil {
		t.Error("something was returned besides the error")
	}
}

// A user's own scheduler reads files of that user and of root.
func TestFilesOfOneUser(t *testing.T) {
	for name, tt := range map[string]struct {
		uid  uint32
		mode fs.FileMode
		ok   bool
	}{
		"the user's": {1001, 0o644, true}, "a group may write": {1001, 0o664, false}, "all may write": {1001, 0o602, false},
		"root's": {0, 0o644, true}, "another's": {1002, 0o600, false},
	} {
		if err := OwnedBy(1001)(fakeInfo{mode: tt.mode, sys: &syscall.Stat_t{Uid: tt.uid}}); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
