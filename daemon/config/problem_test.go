package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// Invariant 2: one row is one file, with all that is said about it.
func TestProblems(t *testing.T) {
	tests := []struct{ name, file, want string }{
		{"mistyped key", "[jobs]\ndefualt_mem = \"4G\"\n", `f:2:1: unknown key "defualt_mem" in [jobs]: did you mean "default_mem"?`},
		{"key of another section", "[gpus]\n  max_time = \"4h\"\n", `f:2:3: unknown key "max_time" in [gpus]: it belongs to [jobs]`},
		{"unknown key", "[daemon]\ncolour = 1\n", `f:2:1: unknown key "colour" in [daemon]; its keys are log_level, starts_in_flight, admin_group, host_mem_reserve`},
		{"no section", "max_time = \"4h\"\n", `f:1:1: key "max_time" stands outside of any section: it belongs to [jobs]`},
		{"no section, unknown", "x = 1\n", `f:1:1: key "x" stands outside of any section; the sections are [jobs], [gpus], [daemon]`},
		{"section as key", "jobs = 1\n", `f:1:1: key "jobs" stands outside of any section; the sections are [jobs], [gpus], [daemon]`},
		{"mistyped section, and a fault within", "[job]\nmax_runing = 1\nmax_queued = 0\n", `f:1:2: unknown section [job]: did you mean [jobs]?
f:2:1: unknown key "max_runing" in [jobs]: did you mean "max_running"?
f:3:1: jobs.max_queued: 0 is out of range: use 1 to 1000000`},
		{"unknown section, said once", "[network]\na = 1\nb = 2\n", `f:1:2: unknown section [network]; the sections are [jobs], [gpus], [daemon]`},
		{"unknown section by dotted key, said once", "network.a = 1\nnetwork.b = 1\n", `f:1:1: unknown section [network]; the sections are [jobs], [gpus], [daemon]`},
		{"too deep", "[jobs.alice]\nmax_time = \"1h\"\n", `f:1:2: unknown section [jobs.alice]; the sections are [jobs], [gpus], [daemon]`},
		{"too deep by inline table", "[jobs]\nmax_time = { a = 1 }\n", `f:2:1: jobs.max_time: must be text in quotes such as "30s", not a section`},
		{"list of sections", "[[jobs]]\nmax_time = 3\n", `f:1:3: [[jobs]] starts a list of sections, there are none: write [jobs]`},
		{"wrong types", "[jobs]\ndefault_mem = 4\nmax_running = \"4\"\nrequeue = \"no\"\ntasks_max = 4.5\nmax_time = 1979-05-27\n[gpus]\nonly = 0\nextra_devices = [1]\n", `f:2:1: jobs.default_mem: must be text in quotes such as "16G", not a number
f:3:1: jobs.max_running: must be a whole number without quotes, not text in quotes
f:4:1: jobs.requeue: must be true or false without quotes, not text in quotes
f:5:1: jobs.tasks_max: must be a whole number without quotes, not a number with a fraction
f:6:1: jobs.max_time: must be text in quotes such as "30s", not a date or time
f:8:1: gpus.only: must be a list of GPU indexes such as [0, 2], not a number
f:9:1: gpus.extra_devices: must hold paths in quotes only`},
		{"bad values", `[jobs]
default_mem = "much"
max_time = "soon"
default_grace = ""
max_grace = "2d"
[gpus]
sample_interval = "1ms"
only = [1, 1]
extra_devices = ["/dev/../etc/shadow"]
device_filter = "maybe"
memory_slack = "-1"
nvml_library = "libnvidia-ml.so.1"
[daemon]
log_level = "INFO"
admin_group = "a:b"
host_mem_reserve = "95%"
`, `f:2:1: jobs.default_mem: "much" is neither a size nor auto or none: write 16G, auto or none
f:3:1: jobs.max_time: "soon" is not a duration: use 90s, 2h, 1-12 (days-hours) or 2:00:00, or "" for none
f:4:1: jobs.default_grace: "" is not a duration: use 90s, 2h, 1-12 (days-hours) or 2:00:00
f:5:1: jobs.max_grace: 2d is out of range: use 1s to 24h
f:7:1: gpus.sample_interval: 1ms is out of range: use 100ms to 1h
f:8:1: gpus.only: GPU 1 is listed twice
f:9:1: gpus.extra_devices: "/dev/../etc/shadow" is not the path of a node in /dev
f:10:1: gpus.device_filter: "maybe" is not a mode: use require or prefer
f:11:1: gpus.memory_slack: "-1" is not a size: use a number with K, M, G or T, such as 20G
f:12:1: gpus.nvml_library: "libnvidia-ml.so.1" is not a plain absolute path
f:14:1: daemon.log_level: "INFO" is not a level: use debug, info, warn or error
f:15:1: daemon.admin_group: "a:b" is not the name of a group
f:16:1: daemon.host_mem_reserve: "95%" is not a percentage from 0% to 90%`},
		{"rules", "[jobs]\nmax_grace = \"10s\"\nmax_time = \"1h\"\ndefault_time = \"2h\"\n", `f:4:1: jobs.default_time is 2h, longer than jobs.max_time, which is 1h: lower the one or raise the other
f:2:1: jobs.default_grace is 30s, longer than jobs.max_grace, which is 10s: lower the one or raise the other`},
		{"no rule over a bad key", "[jobs]\nmax_grace = \"1ms\"\n", `f:2:1: jobs.max_grace: 1ms is out of range: use 1s to 24h`},
		{"not TOML", "[jobs]\nmax_time = 2h\n", `f:2:13: it is not TOML: strings must be quoted`},
		{"a key twice", "[jobs]\nrequeue = true\nrequeue = false\n", `f:3:1: it is not TOML: `},
		{"control codes are not shown raw", "\"\\u001b[2J\" = 1\n", `f:1:1: key "\x1b[2J" stands outside of any section; the sections are [jobs], [gpus], [daemon]`},
	}
	for _, tt := range tests {
		cfg, _, err := Parse("f", []byte(tt.file))
		if err == nil {
			t.Errorf("%s: no error", tt.name)
			continue
		}
		if got := err.Error(); got != tt.want && !(strings.HasSuffix(tt.want, ": ") && strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s: got:\n%s\nwant:\n%s", tt.name, got, tt.want)
		}
		if !reflect.DeepEqual(cfg, Config{}) {
			t.Errorf("%s: a Config came with the error", tt.name)
		}
	}
}

func TestProblemsNameTheKey(t *testing.T) {
	_, _, err := Parse("f", []byte("[jobs]\nmax_queued = 0\n"))
	var problems Problems
	if !errors.As(err, &problems) || len(problems) != 1 || problems[0].Key != "jobs.max_queued" || problems[0].Line != 2 {
		t.Errorf("got %#v", err)
	}
}

func TestValidate(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Errorf("the default: %v", err)
	}
	c := Default()
	c.Jobs.DefaultMem = DefaultMem{Kind: "lots"}
	c.Jobs.MaxGrace = 2 * second
	c.GPUs.Only = []int{3, 1}
	c.GPUs.DeviceFilter = ""
	c.GPUs.MemorySlack = -1
	c.Daemon.LogLevel = 3
	c.Daemon.HostMemReserve = Share{Percent: 5, Bytes: 5}
	want := `jobs.default_mem: "lots" is not auto, none or a size
gpus.only: GPU 1 is not in ascending order
gpus.device_filter: "" is not a mode: use require or prefer
gpus.memory_slack: -1 is out of range: use 0 to 1024T
daemon.log_level: it is none of debug, info, warn and error
daemon.host_mem_reserve: use either 0% to 90% or a size
jobs.default_grace is 30s, longer than jobs.max_grace, which is 2s: lower the one or raise the other`
	if err := c.Validate(); err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
	if (Config{}).Validate() == nil {
		t.Error("the zero Config is valid")
	}
}

func TestNearest(t *testing.T) {
	for _, tt := range []struct{ s, want string }{
		{"jobs", "jobs"}, {"job", "jobs"}, {"gpu", "gpus"}, {"deamon", "daemon"}, {"x", ""}, {"", ""}, {"network", ""},
	} {
		if got := nearest(tt.s, sections()); got != tt.want {
			t.Errorf("nearest to %q: got %q, want %q", tt.s, got, tt.want)
		}
	}
}
