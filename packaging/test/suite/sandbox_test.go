//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// mostExposed is ten times the highest exposure that 'systemd-analyze security' may report for the
// daemon's unit. A lower exposure is better. If a directive raises the exposure, gpusched.service
// justifies the directive.
const mostExposed = 21

// TestSandbox: the daemon and its child have only the privileges that their unit grants. They can
// execute no other program, and no user can read or change their files.
func TestSandbox(t *testing.T) {
	begin(t)
	if r := try(t, "", fmt.Sprintf("systemd-analyze security --no-pager --threshold=%d gpusched.service", mostExposed)); r.Code != 0 {
		t.Errorf("the unit's exposure is above %d.%d:\n%s", mostExposed/10, mostExposed%10, r.Stdout)
	} else {
		t.Log(r.Stdout[strings.LastIndex(r.Stdout, "→"):])
	}
	id := submit(t, "alice", "-g 1 -e TOKEN=hush -- sleep 1000")
	waitRun(t, id)
	pids := strings.Fields(sh(t, "", "cat /sys/fs/cgroup$(systemctl show -P ControlGroup gpusched)/cgroup.procs 2>/dev/null || cat $(ls -d /sys/fs/cgroup/*/system.slice/gpusched.service | head -1)/cgroup.procs"))
	programs := sh(t, "", "for p in "+strings.Join(pids, " ")+"; do readlink /proc/$p/exe; done | sort")
	if programs != "/usr/libexec/gpusched/gpusched-nvml\n/usr/libexec/gpusched/gpuschedd" {
		t.Errorf("in the daemon's unit run\n%s", programs)
	}
	for _, pid := range pids {
		checkPrivileges(t, pid)
	}
	filesOfTheDaemon(t, id)
}

// checkPrivileges checks the privileges of a process in the daemon's unit.
func checkPrivileges(t *testing.T, pid string) {
	t.Helper()
	// The capabilities are CHOWN, KILL, SYS_PTRACE, MKNOD and SYSLOG. The process can get no new
	// privileges and has a system call filter. The inheritable set is not checked: newer versions
	// of systemd grant all of it, and without file capabilities it has no effect.
	const want = "CapPrm:0000000408080021 CapEff:0000000408080021 CapBnd:0000000408080021 CapAmb:0000000000000000 NoNewPrivs:1 Seccomp:2"
	if got := sh(t, "", `awk '/^(Cap[^I]|NoNewPrivs|Seccomp:)/ {printf "%s%s%s", sep, $1, $2; sep = " "}' /proc/`+pid+"/status"); got != want {
		t.Errorf("process %s holds\n%s, not\n%s", pid, got, want)
	}
	if sh(t, "", "readlink /proc/"+pid+"/ns/net") == sh(t, "", "readlink /proc/1/ns/net") {
		t.Errorf("process %s has a network", pid)
	}
	// An intruder in the daemon can execute neither a shell nor another installed program. The
	// intruder can write only to a few directories, and cannot execute the files there.
	programs := []string{"/bin/sh", "/usr/bin/env", "/bin/kill", "/usr/bin/gpusched"}
	for _, dir := range []string{"/var/lib/gpusched", "/var/cache/gpusched", "/run/gpusched", "/tmp", "/var/tmp", "/dev/shm"} {
		file := "/proc/" + pid + "/root" + dir + "/true"
		sh(t, "", "cp /bin/true "+file+" && chmod 755 "+file)
		defer sh(t, "", "rm "+file)
		programs = append(programs, dir+"/true")
	}
	for _, program := range programs {
		if r := try(t, "", "nsenter -t "+pid+" -m -- "+program+" --version </dev/null"); r.Code != 126 && r.Code != 127 {
			t.Errorf("process %s can execute %s: exit %d: %s", pid, program, r.Code, r.Stderr)
		}
	}
	checkMounts(t, pid)
}

// The keys of this table are the paths to which a process of the daemon's unit may write. The
// values are the reasons why it may.
var writable = map[string]string{
	"/var/lib/gpusched": "the state", "/var/cache/gpusched": "the last ids", "/run/gpusched": "the socket and the jobs' instructions",
	"/run/systemd/units": "what systemd leaves there of ended jobs",
	"/tmp":               "of the unit alone", "/var/tmp": "of the unit alone",
	"/dev": "nodes of GPUs that appear late", "/dev/shm": "in memory", "/dev/pts": "of the kernel", "/dev/mqueue": "of the kernel",
	"/sys/fs/cgroup/system.slice/gpusched.service/memory.pressure": "newer versions of systemd ask to be told of it there",
	"/dev/hugepages": "of the kernel", "/proc": "of the kernel; /proc/sys is apart, and read-only",
}

// checkMounts checks the mounts of a process. The process can write to a mount only if the table
// above gives a reason, and can execute what it writes there only in /dev, which newer versions of
// systemd leave executable.
func checkMounts(t *testing.T, pid string) {
	t.Helper()
	for line := range strings.SplitSeq(sh(t, "", `awk '{last[$5] = $6} END {for (m in last) print m, last[m]}' /proc/`+pid+"/mountinfo"), "\n") {
		path, options, _ := strings.Cut(line, " ")
		// Mounts in /run/host come from the container.
		if strings.HasPrefix(options, "ro") || strings.HasPrefix(path, "/run/host/") {
			continue
		}
		if writable[path] == "" {
			t.Errorf("process %s can write below %s (%s)", pid, path, options)
		}
		if !strings.Contains(options, "noexec") && !strings.HasPrefix(path, "/dev") {
			t.Errorf("process %s can execute what it writes below %s (%s)", pid, path, options)
		}
	}
	if r := try(t, "", "touch /proc/"+pid+"/root/run/systemd/units/written && rm /run/systemd/units/written"); r.Code != 0 {
		t.Errorf("process %s can't remove its files: %s", pid, r.Stderr)
	}
	for _, dir := range []string{"", "/etc", "/usr", "/usr/lib", "/usr/lib64", "/usr/lib/systemd/system", "/usr/libexec/gpusched", "/usr/local/lib", "/opt", "/run", "/run/systemd/system", "/var", "/var/log"} {
		if r := try(t, "", "touch /proc/"+pid+"/root"+dir+"/written"); r.Code == 0 {
			t.Errorf("process %s can write in %s/", pid, dir)
			sh(t, "", "rm /proc/"+pid+"/root"+dir+"/written")
		}
	}
}

// filesOfTheDaemon checks the owners and modes of the daemon's files on disk and in /run.
func filesOfTheDaemon(t *testing.T, id int64) {
	t.Helper()
	list := sh(t, "", "cd / && stat -c '%a %U:%G %n' var/lib/gpusched run/gpusched run/gpusched/gpusched.sock run/gpusched/specs dev/gpusched-probe var/lib/gpusched/* run/gpusched/specs/*")
	want := map[string]string{
		"var/lib/gpusched": "700 root:root", "run/gpusched": "755 root:root", "run/gpusched/gpusched.sock": "666 root:root",
		"run/gpusched/specs": "711 root:root", fmt.Sprintf("run/gpusched/specs/%d.1", id): "640 root:root", "dev/gpusched-probe": "666 root:root",
	}
	for line := range strings.SplitSeq(list, "\n") {
		f := strings.SplitN(line, " ", 3)
		mode := want[f[2]]
		delete(want, f[2])
		if mode == "" {
			mode = "600 root:root" // any other file in the state directory
		}
		if !strings.HasPrefix(f[0]+" "+f[1], mode) {
			t.Errorf("%s is %s %s, not %s", f[2], f[0], f[1], mode)
		}
	}
	for name := range want {
		t.Errorf("there is no %s", name)
	}
	if out := sh(t, "", `dpkg -L gpusched | xargs -d '\n' stat -c '%A %U:%G %n' | awk '$1 ~ /[sStT]/ || $2 != "root:root" || substr($1, 1, 1) != "l" && (substr($1, 6, 1) == "w" || substr($1, 9, 1) == "w")'`); out != "" {
		t.Errorf("others can write these files of the package:\n%s", out)
	}
}

// TestNoSecretInLogs: no log, property or file that other users can read contains a job's private
// values. This holds while the job waits, while it runs, and after it has failed to start or has
// ended. Nor do the values appear in what root reads about the daemon.
func TestNoSecretInLogs(t *testing.T) {
	begin(t)
	// Without --since, journalctl would take minutes
	// to read the floods of output from earlier tests.
	journal := "journalctl -o export --since '" + sh(t, "", "date '+%F %T'") + "' "
	settings(t, "[daemon]\nlog_level = \"debug\"")
	sh(t, "alice", "mkdir -p ~/hush-dir")
	const private = "-g 0 -e TOKEN=hush-env -C ~/hush-dir"
	ids := []int64{
		submit(t, "alice", private+" --hold -- echo hush-argv"),
		submit(t, "alice", private+" -- bash -c 'echo armed; sleep 1000 # hush-argv'"),
		submit(t, "alice", private+" --force -- /no/such-program hush-argv"),
		submit(t, "alice", private+" -- bash -c 'exit 3 # hush-argv'"),
		submit(t, "alice", private+" --param p=hush-param -- bash -c 'exit 4 # {p}'"),
	}
	waitText(t, ids[1], "armed")
	wait(t, ids[2])
	wait(t, ids[3])
	wait(t, ids[4])
	sh(t, "", "systemctl restart gpusched; gpusched list >/dev/null")
	sh(t, "alice", fmt.Sprintf("gpusched cancel %d", ids[1]))
	wait(t, ids[1])
	awaitJournal(t)
	// The test does not search the job's own journal, because there the launcher tells the user
	// which program is missing.
	for _, cmd := range []string{journal + "-u gpusched -u gpusched.socket", journal + "_PID=1", journal + "-k",
		"systemctl show 'gpujob-*'", "cat /run/systemd/transient/gpujob-* 2>/dev/null", "gpusched config show"} {
		if out := try(t, "", cmd+" | grep -a hush").Stdout; out != "" {
			t.Errorf("%q shows %.300q", cmd, out)
		}
	}
	for _, cmd := range []string{"grep -rsa hush- /run /var/lib /var/log /var/tmp /tmp /etc/gpusched /etc/systemd", journal + "| grep -a hush", "gpusched list -a --json | grep hush"} {
		if out := try(t, "bob", cmd+" 2>/dev/null").Stdout; out != "" {
			t.Errorf("bob: %q shows %.300q", cmd, out)
		}
	}
	// When a job ends, the daemon deletes the job's environment. Even the owner no longer sees it.
	if y := show(t, "alice", ids[3]).Private; y == nil || len(y.Env) != 0 || !strings.Contains(y.Command, "hush-argv") {
		t.Errorf("the owner of an ended job reads %+v", y)
	}
	if y := show(t, "alice", ids[0]).Private; y == nil || !strings.Contains(strings.Join(y.Env, ""), "hush-env") {
		t.Errorf("the owner of a waiting job reads %+v", y)
	}
	sh(t, "alice", fmt.Sprintf("gpusched cancel %d", ids[0]))
}
