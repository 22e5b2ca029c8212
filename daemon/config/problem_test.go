package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// sectionList is the list of sections in some messages.
const sectionList = "[jobs], [class.CLASS], [scheduling], [quota.default], [quota.user.NAME], [quota.group.NAME], [lane.LANE], [gpus], [gpu_memory], [idle], [park], [notify], [notify.webhook.HOOK], [containers], [xid], [limits], [metrics], [daemon]"

// Invariant 2: each row has one file and all problems that are reported about it.
func TestProblems(t *testing.T) {
	tests := []struct{ name, file, want string }{
		{"mistyped key", "[jobs]\ndefualt_mem = \"4G\"\n", `f:2:1: unknown key "defualt_mem" in [jobs]: did you mean "default_mem"?`},
		{"hidden scratch", "[jobs]\nscratch = \"/tmp/x\"\n", `f:2:1: jobs.scratch: "/tmp/x" is in a directory that the scheduler does not see: name one elsewhere`},
		{"key of another section", "[gpus]\n  max_time = \"4h\"\n", `f:2:3: unknown key "max_time" in [gpus]: it belongs to [jobs]`},
		{"unknown key", "[daemon]\ncolour = 1\n", `f:2:1: unknown key "colour" in [daemon]; its keys are log_level, starts_in_flight, admin_group, host_mem_reserve, inhibit`},
		{"no section", "max_time = \"4h\"\n", `f:1:1: key "max_time" stands outside of any section: it belongs to [jobs]`},
		{"no section, unknown", "x = 1\n", `f:1:1: key "x" stands outside of any section; the sections are ` + sectionList},
		{"section as key", "jobs = 1\n", `f:1:1: key "jobs" stands outside of any section; the sections are ` + sectionList},
		{"mistyped section, and a fault within", "[job]\nmax_runing = 1\nmax_queued = 0\n", `f:1:2: unknown section [job]: did you mean [jobs]?
f:2:1: unknown key "max_runing" in [jobs]: did you mean "max_running"?
f:3:1: jobs.max_queued: 0 is out of range: use 1 to 1000000`},
		{"unknown section, said once", "[network]\na = 1\nb = 2\n", `f:1:2: unknown section [network]; the sections are ` + sectionList},
		{"unknown section by dotted key, said once", "network.a = 1\nnetwork.b = 1\n", `f:1:1: unknown section [network]; the sections are ` + sectionList},
		{"too deep", "[jobs.alice]\nmax_time = \"1h\"\n", `f:1:2: unknown section [jobs.alice]; the sections are ` + sectionList},
		{"too deep by inline table", "[jobs]\nmax_time = { a = 1 }\n", `f:2:1: jobs.max_time: must be text in quotes such as "30s", not a section`},
		{"list of sections", "[[jobs]]\nmax_time = 3\n", `f:1:3: [[jobs]] starts a list of sections, which no setting is: write [jobs]`},
		{"wrong types", "[jobs]\ndefault_mem = 4\nmax_running = \"4\"\nrequeue = \"no\"\ntasks_max = 4.5\nmax_time = 1979-05-27\n[gpus]\nonly = 0\nextra_devices = [1]\n", `f:2:1: jobs.default_mem: must be text in quotes such as "16G", not a number
f:3:1: jobs.max_running: must be a whole number without quotes, not text in quotes
f:4:1: jobs.requeue: must be true or false without quotes, not text in quotes
f:5:1: jobs.tasks_max: must be a whole number without quotes, not a number with a fraction
f:6:1: jobs.max_time: must be text in quotes such as "30s", not a date or time
f:8:1: gpus.only: must be a list of GPU indexes such as [0, 2], not a number
f:9:1: gpus.extra_devices: must hold paths in quotes only`},
		{"idle jobs parked, parking off", "[idle]\naction = \"park\"\n", `f:2:1: idle.action is park, but park.allow is false: set it to true, or choose another action`},
		{"parked for others, parking off", "park.preempt = true\n", `f:1:1: park.preempt is true, but park.allow is false: set both to true, or neither`},
		{"bad memory for parking", "park.max_memory = \"120%\"\n", `f:1:1: park.max_memory: "120%" is not a percentage from 1% to 100%`},
		{"bad return of memory", "[jobs]\nmem_return = \"20%\"\n", `f:2:1: jobs.mem_return: "20%" is not a margin and a time, such as 20%@10m`},
		{"return of memory out of range", "jobs.mem_return = \"1%@10m\"\n", `f:1:1: jobs.mem_return: 1%@10m is out of range: use 5% to 100%, after 1m to 3650d`},
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
alert_unit = "gpusched-alert.service"
check_unit = "a/b@.service"
[daemon]
log_level = "INFO"
admin_group = "a:b"
host_mem_reserve = "95%"
`, `f:2:1: jobs.default_mem: "much" is not a size: use a number with K, M, G or T, such as 20G, or auto or none
f:3:1: jobs.max_time: "soon" is not a duration: use 90s, 2h, 1-12 (days-hours) or 2:00:00, or "" for none
f:4:1: jobs.default_grace: "" is not a duration: use 90s, 2h, 1-12 (days-hours) or 2:00:00
f:5:1: jobs.max_grace: 2d is out of range: use 1s to 24h
f:7:1: gpus.sample_interval: 1ms is out of range: use 100ms to 1h
f:8:1: gpus.only: GPU 1 is listed twice
f:9:1: gpus.extra_devices: "/dev/../etc/shadow" is not the path of a node in /dev
f:10:1: gpus.device_filter: "maybe" is not a mode: use require or prefer
f:11:1: gpus.memory_slack: "-1" is not a size: use a number with K, M, G or T, such as 20G
f:12:1: gpus.nvml_library: "libnvidia-ml.so.1" is not a plain absolute path
f:13:1: gpus.alert_unit: "gpusched-alert.service" is not the name of a template unit, such as gpusched-alert@.service
f:14:1: gpus.check_unit: "a/b@.service" is not the name of a template unit, such as gpusched-alert@.service
f:16:1: daemon.log_level: "INFO" is not a level: use debug, info, warn or error
f:17:1: daemon.admin_group: "a:b" is not the name of a group
f:18:1: daemon.host_mem_reserve: "95%" is not a percentage from 0% to 90%`},
		{"xids", "[xid]\njob = \"13, 48-50\"\ndrain = \"63, 0\"\nreset = \"9-7\"\nreboot = \"154\"\n", `f:3:1: xid.drain: "0" is not an Xid: use numbers from 1 to 1023 and ranges, such as 48, 145-150
f:4:1: xid.reset: "9-7" runs backwards
f:5:1: xid.reboot: 154 can't be listed: in that report the driver itself says what the GPU needs`},
		{"more xids", "[xid]\njob = [13]\ndrain = \"63, 63\"\nreset = \"1024\"\n", `f:2:1: xid.job: must be text in quotes such as "48, 145-150", not a list
f:3:1: xid.drain: 63 is listed twice
f:4:1: xid.reset: "1024" is not an Xid: use numbers from 1 to 1023 and ranges, such as 48, 145-150`},
		{"an xid in two lists", "[xid]\njob = \"13, 48\"\n", `f:2:1: Xid 48 is in xid.job and in xid.reset: leave it in the one that counts`},
		{"numbers alone", "[jobs]\ndefault_mem = \"64\"\n[gpus]\nmemory_slack = \"2000000\"\n[daemon]\nhost_mem_reserve = \"8\"\n",
			`f:2:1: jobs.default_mem: 64 has no unit; write 64M or 64G, or auto or none
f:4:1: gpus.memory_slack: 2000000 has no unit; write 2000000B, or use K, M, G or T
f:6:1: daemon.host_mem_reserve: 8 has no unit; write 8M or 8G, or a percentage such as 5%`},
		{"bad places", "[jobs]\nmax_mem = \"much\"\nallowed_paths = [\"srv\"]\n", `f:2:1: jobs.max_mem: "much" is not a size: use a number with K, M, G or T, such as 20G, or none
f:3:1: jobs.allowed_paths: "srv" is not a plain absolute path`},
		{"no log of its own", "[jobs]\nlog = \"/srv/all.log\"\n", `f:2:1: jobs.log: "/srv/all.log" has no %j in it, so all jobs would share one file`},
		{"log of nowhere", "[jobs]\nlog = \"logs/%j\"\n", `f:2:1: jobs.log: "logs/%j" is neither an absolute path nor one that begins with %h/`},
		{"log of tasks", "[jobs]\nlog = \"/srv/%j-%a\"\n", `f:2:1: jobs.log: "/srv/%j-%a" is not a path of at most 4095 bytes with no sequences but %j, %A, %n, %u, %% and %h/ at its beginning`},
		{"more memory than allowed", "[jobs]\nmax_mem = \"4G\"\ndefault_mem = \"8G\"\n", `f:3:1: jobs.default_mem is 8G, more than jobs.max_mem, which is 4G: lower the one or raise the other`},
		{"bad metrics", "[metrics]\nusers = 1001\n", `f:2:1: metrics.users: 1001 is out of range: use 0 to 1000`},
		{"bad limits", "[limits]\nrequest = 5\nburst = 0\nrequest_size = \"1K\"\nuser_waits = 128\n", `f:2:1: unknown key "request" in [limits]: did you mean "requests"?
f:3:1: limits.burst: 0 is out of range: use 1 to 1000000
f:4:1: limits.request_size: 1K is out of range: use 64K to 8M
f:5:1: limits.user_waits is 128 and limits.user_connections 128: leave some for requests that do not wait`},
		{"bad notify", "[notify]\nways = [\"fax\"]\nown_urls = 1\nwebhook_interval = \"1ms\"\n[notify.webhook.\"a b\"]\n[notify.webhook.HOOK]\n[notify.webhook.x]\nurl = \"file:///etc/shadow\"\n", `f:2:1: notify.ways: "fax" is not a way to send messages: use mail, webhook, terminal
f:3:1: notify.own_urls: must be true or false without quotes, not a number
f:4:1: notify.webhook_interval: 1ms is out of range: use 1s to 3650d
f:5:2: [notify.webhook."a b"]: "a b" is not the name of a webhook: use letters, digits, - and _
f:6:2: [notify.webhook.HOOK]: HOOK stands for the name of a webhook: write that
f:8:1: notify.webhook.x.url: it is not a URL of http or https`},
		{"bad engines", "[containers]\nengines = [\"podman\", \"runc\"]\n", `f:2:1: containers.engines: "runc" is not an engine: use podman, apptainer, docker`},
		{"bad patterns", "[jobs]\nallowed_paths = [\"/srv/[a\"]\n", `f:2:1: jobs.allowed_paths: "/srv/[a" is not a pattern: a [ needs its ]`},
		{"places twice", "jobs.allowed_paths = [\"/srv\", \"/srv/\"]\n", `f:1:1: jobs.allowed_paths: "/srv" is listed twice`},
		{"places as text", "jobs.allowed_paths = \"/srv\"\n", `f:1:1: jobs.allowed_paths: must be a list of directories such as ["/srv/scripts"], not text in quotes`},
		{"bad strangers", "[gpus]\nstrangers = \"kill\"\nstrangers_after = \"0.5s\"\n", `f:2:1: gpus.strangers: "kill" is not an action: use show or tell or end
f:3:1: gpus.strangers_after: 500ms is out of range: use 1s to 24h`},
		{"bad window", "[gpus]\nload_window = \"0.5s\"\n", `f:2:1: gpus.load_window: 500ms is out of range: use 1s to 1h`},
		{"more retries than allowed", "[jobs]\nmax_retries = 2\ndefault_retries = 3\n", `f:3:1: jobs.default_retries is 3, more than jobs.max_retries, which is 2: lower the one or raise the other`},
		{"rules", "[jobs]\nmax_grace = \"10s\"\nmax_time = \"1h\"\ndefault_time = \"2h\"\n", `f:4:1: jobs.default_time is 2h, longer than jobs.max_time, which is 1h: lower the one or raise the other
f:2:1: jobs.default_grace is 30s, longer than jobs.max_grace, which is 10s: lower the one or raise the other`},
		{"mistyped named section", "[quotas.user.alice]\ngpu = 0\n[clas.low]\nmax_time = \"1h\"\n[class.lo]\n[class.urgent]\n", `f:1:2: unknown section [quotas.user.alice]: did you mean [quota.user.alice]?
f:2:1: unknown key "gpu" in [quota.user.alice]: did you mean "gpus"?
f:3:2: unknown section [clas.low]: did you mean [class.low]?
f:5:2: unknown section [class.lo]: did you mean [class.low]?
f:6:2: unknown section [class.urgent]; the sections are ` + sectionList},
		{"user or group not said", "[quota.alice]\ngpus = 1\n", `f:1:2: unknown section [quota.alice]: did you mean [quota.user.alice]?`},
		{"dot in a name", "[quota.user.first.last]\ngpus = 1\n", `f:1:2: unknown section [quota.user.first.last]: a name with a dot is written in quotes: [quota.user."first.last"]`},
		{"key above the sections", "[quota]\ngpus = 1\n[class]\nmax_time = \"1h\"\n", `f:2:1: [quota] has no keys of its own, only sections below it: it belongs to [quota.default]
f:4:1: [class] has no keys of its own, only sections below it: it belongs to [jobs]`},
		{"section as key, deep", "[class]\nlow = \"1h\"\n", `f:2:1: [class] has no keys of its own, only sections below it`},
		{"not an account", "[quota.user.\"a:b\"]\ngpus = 1\n[quota.group.NAME]\n[quota.user.\"\\u001b[2J\"]\n", `f:1:2: [quota.user."a:b"]: "a:b" is not the name of an account
f:3:2: [quota.group.NAME]: NAME stands for the name of an account: write that
f:4:2: [quota.user."\x1b[2J"]: "\x1b[2J" is not the name of an account`},
		{"share of a group", "[quota.group.lab]\nshare = 0\n", `f:2:1: quota.group.lab.share: 0 is out of range: use 1 to 1000, or "none" for no bound`},
		{"bad quotas", "[quota.default]\ngpus = 0.333\njobs = 0\nqueued = \"many\"\ngpu_hours = 1.5\nshare = 0\n[quota.user.\"first.last\"]\ngpus = \"4\"\nshare = \"none\"\n", `f:2:1: quota.default.gpus: 0.333 is not an amount of GPUs: use 0.01 to 1024 in steps of 0.01, or "none" for no bound
f:3:1: quota.default.jobs: 0 is out of range: use 1 to 100000, or "none" for no bound
f:4:1: quota.default.queued: must be a whole number without quotes, or "none", not text in quotes
f:5:1: quota.default.gpu_hours: must be a whole number without quotes, or "none", not a number with a fraction
f:6:1: quota.default.share: 0 is out of range: use 1 to 1000
f:8:1: quota.user."first.last".gpus: must be a number such as 1.5 without quotes, or "none", not text in quotes
f:9:1: quota.user."first.last".share: must be a whole number without quotes, not text in quotes`},
		{"bad scheduling", "[scheduling]\npolicy = \"lottery\"\nhalf_life = \"1s\"\nguard_percent = 0\nreservation_depth = 17\nslice = \"500ms\"\nrestart_cost = \"500ms\"\n[jobs]\nmax_retries = 101\ndefault_retries = -1\ndefault_backoff = \"2h\"\ndefault_on_timeout = \"suspend\"\nsnapshot = \"all\"\n", `f:2:1: scheduling.policy: "lottery" is not a policy: use fair or fifo
f:3:1: scheduling.half_life: 1s is out of range: use 1m to 3650d
f:4:1: scheduling.guard_percent: 0 is out of range: use 1 to 100
f:5:1: scheduling.reservation_depth: 17 is out of range: use 0 to 16
f:6:1: scheduling.slice: 500ms is out of range: use 1s to 3650d
f:7:1: scheduling.restart_cost: 500ms is out of range: use 1s to 24h
f:9:1: jobs.max_retries: 101 is out of range: use 0 to 100
f:10:1: jobs.default_retries: -1 is out of range: use 0 to 100
f:11:1: jobs.default_backoff: 2h is out of range: use 1s to 1h
f:12:1: jobs.default_on_timeout: "suspend" is not an action: use kill or requeue
f:13:1: jobs.snapshot: "all" is not a choice: use off or script`},
		{"bad thresholds", "[gpus]\nmax_load = 0\nmax_used = 1.5\nmin_free_memory = \"lots\"\n", `f:2:1: gpus.max_load: 0 is out of range: use 1 to 100
f:3:1: gpus.max_used: 1.5 is neither a percentage nor a fraction: use 1 to 100, or 0.01 to 1.0 in steps of 0.01
f:4:1: gpus.min_free_memory: "lots" is not a size: use a number with K, M, G or T, such as 20G, or none`},
		{"bad parts", "[gpus]\nsmallest_part = 1.5\nparts_on = [-1]\n[gpu_memory]\n", `f:2:1: gpus.smallest_part: 1.5 is not a part of a GPU: use 0.01 to 1 in steps of 0.01
f:3:1: gpus.parts_on: must hold GPU indexes only, numbers from 0 to 1023 without quotes`},
		{"a part in words", "[gpus]\nsmallest_part = \"half\"\n", `f:2:1: gpus.smallest_part: must be a number such as 0.25 without quotes, not text in quotes`},
		{"hours without use", "[scheduling]\nhalf_life = \"\"\n[quota.default]\ngpu_hours = 5\n[quota.user.a]\n[quota.user.b]\ngpu_hours = 6\n", `f:2:1: scheduling.half_life is empty, so usage does not count, but quota.default.gpu_hours bounds it: set the one or drop the other
f:2:1: scheduling.half_life is empty, so usage does not count, but quota.user.b.gpu_hours bounds it: set the one or drop the other`},
		{"no rule over a bad key", "[jobs]\nmax_grace = \"1ms\"\n", `f:2:1: jobs.max_grace: 1ms is out of range: use 1s to 24h`},
		{"not TOML", "[jobs]\nmax_time = 2h\n", `f:2:13: it is not TOML: strings must be quoted`},
		{"UTF-16", "\xff\xfe[\x00j\x00", `f:1:1: it is not TOML: it has bytes of value 0, as in UTF-16: save it as UTF-8`},
		{"Latin-1", "[jobs]\n# M\xfcller\n", `f:2:4: it is not TOML: it has bytes that are not UTF-8: save it as UTF-8`},
		{"a quotation mark of a word processor", "[jobs]\nmax_time = “2h”\n", `f:2:12: it is not TOML: “ is not a quotation mark here: write "`},
		{"a letter without quotes", "[jobs]\nmax_time = é\n", `f:2:12: it is not TOML: unexpected character é: text stands in "quotes"`},
		{"a no-break space", "[jobs]\nrequeue =\u00a0true\n", `f:2:10: it is not TOML: unexpected character U+00A0, which isn't visible: delete it`},
		{"a control code of two bytes", "\u0089", `f:1:1: it is not TOML: unexpected character U+0089, which isn't visible: delete it`},
		{"yes", "[jobs]\r\nrequeue = yes\r\n", `f:2:11: it is not TOML: yes is not a value: write true or false, or text in "quotes"`},
		{"a mistake after the mark of UTF-8", "\ufeff[jobs]\nrequeue = maybe\n", `f:2:11: it is not TOML: unexpected character U+006D 'm' at start of value`},
		{"a key twice", "[jobs]\nrequeue = true\nrequeue = false\n", `f:3:1: it is not TOML: `},
		{"control codes are not shown raw", "\"\\u001b[2J\" = 1\n", `f:1:1: key "\x1b[2J" stands outside of any section; the sections are ` + sectionList},
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

// If a section is repeated, the problem names the line of the first one. All other mistakes are
// still reported.
func TestASectionTwice(t *testing.T) {
	const file = "[jobs]\n# requeue = true\n[quota.defalt]\nmax_gpus = 2\n[jobs]\nrequeue = true\nx = \"\"\"\n[jobs]\n\"\"\"\n" +
		"[gpus]\nno_key = 0\n[jobs]\nrequeue = false\n"
	_, _, err := Parse("f", []byte(file))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"f:3:", "quota.default", "f:5:2: [jobs] already exists: write what follows it under the [jobs] of line 1",
		"f:11:1: ", "no_key", "f:12:2: [jobs] already exists",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got\n%v\nwithout %s", err, want)
		}
	}
	if _, _, err := Parse("f", []byte("[jobs]\nrequeue = \n[jobs]\n")); err == nil || !strings.Contains(err.Error(), "f:2:") {
		t.Errorf("a mistake before it: %v", err)
	}
	if _, _, err := Parse("f", []byte("[jobs]\nrequeue = true\n[jobs.x]\n[gpus]\n")); err == nil || strings.Contains(err.Error(), "already") {
		t.Errorf("a section of another: %v", err)
	}
}
