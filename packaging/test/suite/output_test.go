//go:build machine

package suite

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// manyLines is several times the number of lines that
// journald's own rate limit would accept at once.
const manyLines = 100_000

// TestOutputIsWhole: a job prints very many lines at once. None is lost, although journald's own
// rate limit would drop some.
func TestOutputIsWhole(t *testing.T) {
	begin(t)
	checkWholeOutput(t, submit(t, "alice", fmt.Sprint("-g 0 -- seq ", manyLines)), func() {})
}

// TestOutputOfALateJournal: a job ends before journald
// reads its output. None of the output is lost.
func TestOutputOfALateJournal(t *testing.T) {
	begin(t)
	journald := func(signal string) { sh(t, "", "systemctl kill -s "+signal+" systemd-journald") }
	journald("STOP")
	t.Cleanup(func() { journald("CONT") })
	id := submit(t, "alice", fmt.Sprint("-g 0 -- seq ", manyLines))
	checkWholeOutput(t, id, func() {
		poll(t, "the unit is gone", func() bool {
			return sh(t, "", fmt.Sprintf("systemctl show -P LoadState gpujob-%d", id)) == "not-found"
		})
		journald("CONT")
	})
}

// checkWholeOutput waits until a job that prints the numbers up to manyLines has ended. It then
// waits until the journal has all of these lines. Since the journal is slower than the job, it
// keeps waiting while the journal still grows.
func checkWholeOutput(t *testing.T, id int64, then func()) {
	t.Helper()
	mustEnd(t, wait(t, id), "completed", "exit code 0")
	then()
	want := fmt.Sprintf("%d %d", manyLines, manyLines)
	for _, cmd := range []string{"gpusched logs ", "journalctl -q -o cat _TRANSPORT=stdout -u gpujob-"} {
		for last, got := "none", ""; got != want; last = got {
			poll(t, fmt.Sprintf("the journal has more lines than %s", last), func() bool {
				got = sh(t, "alice", fmt.Sprintf("%s%d | sort -nu | awk 'END { print NR, $1 }'", cmd, id))
				return got != last
			})
			t.Logf("%s: %s", cmd, got)
		}
	}
}

// TestLogsOfQuickJobs: some jobs end within milliseconds, before journald can look up their
// invocation. 'gpusched logs' still shows their output. If a job printed nothing, the command says
// so.
func TestLogsOfQuickJobs(t *testing.T) {
	begin(t)
	sh(t, "alice", `rm -f ~/ids; for i in $(seq 40); do gpusched submit -q -g 0 -- ls /nofile$i >> ~/ids & done; wait
		gpusched wait $(cat ~/ids) || true`)
	out := sh(t, "alice", `for id in $(cat ~/ids); do gpusched logs $id | grep -q "cannot access" || echo empty $id; done`)
	if out != "" {
		t.Errorf("logs shows nothing of quick jobs: %s", out)
	}
	out = sh(t, "alice", `for i in $(seq 10); do id=$(gpusched submit -q -g 0 -- ls /nofile$i)
		gpusched logs -f $id | grep -q "cannot access" || echo empty $id; done`)
	if out != "" {
		t.Errorf("logs -f shows nothing of quick jobs: %s", out)
	}
	id := submit(t, "alice", "-g 0 -- true")
	mustEnd(t, wait(t, id), "completed", "exit code 0")
	r, want := try(t, "alice", fmt.Sprintf("gpusched logs %d", id)), fmt.Sprintf("gpusched: job %d printed nothing", id)
	if r.Code != 0 || r.Stdout != "" || strings.TrimSpace(r.Stderr) != want {
		t.Errorf("logs of a silent job: %+v", r)
	}
}

// TestLogsTellAttemptsApart: 'gpusched logs' shows the output of each attempt separately. It does
// not show lines that other users wrote with the job's fields or name.
func TestLogsTellAttemptsApart(t *testing.T) {
	begin(t)
	id := submit(t, "alice", `-g 0 --retries 1 --backoff 1s -- bash -c 'echo try $GPUSCHED_ATTEMPT; [ $GPUSCHED_ATTEMPT = 2 ]'`)
	mustEnd(t, wait(t, id), "completed", "exit code 0")
	const field = `journalctl -q -o json _SYSTEMD_UNIT=gpujob-%d.service | grep -o 'GPUSCHED_PLACED":"[0-9]*' | tail -1 | cut -d'"' -f3`
	placed := sh(t, "", fmt.Sprintf(field, id))
	const forge = "printf '%%s\n' MESSAGE=forged _SYSTEMD_UNIT=gpujob-%[1]d.service GPUSCHED_JOB=%[1]d GPUSCHED_ATTEMPT=2 " +
		"GPUSCHED_PLACED=%[2]s SYSLOG_IDENTIFIER=gpujob-%[1]d | logger --journald"
	sh(t, "bob", fmt.Sprintf(forge, id, placed))
	poll(t, "the forged line is in the journal", func() bool {
		return sh(t, "", "journalctl -q -o cat _UID=1002 GPUSCHED_PLACED="+placed) == "forged"
	})
	for user, opts := range map[string]string{"alice": "", "": "--attempt 2 "} {
		if out := sh(t, user, fmt.Sprintf("gpusched logs %s%d", opts, id)); out != "try 2" {
			t.Errorf("the second attempt printed %q", out)
		}
	}
	if out := sh(t, "alice", fmt.Sprintf("gpusched logs --attempt 1 %d", id)); out != "try 1" {
		t.Errorf("the first attempt printed %q", out)
	}
	const first, next = `gpusched: attempt 1: .*\ntry 1\n`, `gpusched: attempt 2: .*\ntry 2`
	if out := sh(t, "alice", fmt.Sprintf("gpusched logs --attempt all %d", id)); !regexp.MustCompile("^" + first + next + "$").MatchString(out) {
		t.Errorf("all attempts: %q", out)
	}
	sh(t, "alice", "rm -f go out")
	id = submit(t, "alice", `-g 0 --retries 1 --backoff 1s -- bash -c 'echo try $GPUSCHED_ATTEMPT
		until [ -e go ]; do sleep 0.1; done; [ $GPUSCHED_ATTEMPT = 2 ]'`)
	sh(t, "alice", fmt.Sprintf("setsid -f gpusched logs -f %d > out 2> err", id))
	poll(t, "the first attempt is followed", func() bool { return sh(t, "alice", "grep -c . out || true") == "1" })
	sh(t, "alice", "touch go")
	poll(t, "the second attempt is followed to its end", func() bool {
		out := sh(t, "alice", "cat out err")
		return regexp.MustCompile(`^try 1\n` + next + `\n(gpusched: job \d+ is .*\n)?gpusched: job \d+ completed: exit code 0$`).MatchString(out)
	})
}

// TestLogsOfSeveralJobs: 'gpusched logs' begins each line with the job's id. It shows all tasks of
// an array, or only the failed tasks, and with -f it also follows tasks that start later.
func TestLogsOfSeveralJobs(t *testing.T) {
	begin(t)
	const tasks = `-q -g 0 --array 0-5%%2 -- sh -c 'echo begin $GPUSCHED_ARRAY_TASK; echo end; exit $((GPUSCHED_ARRAY_TASK %% 2))'`
	id := sh(t, "alice", fmt.Sprintf("gpusched submit "+tasks))
	if out := sh(t, "alice", "gpusched logs -f | sort"); strings.Count(out, "\n") != 11 ||
		!strings.HasPrefix(out, id+"_0: begin 0\n"+id+"_0: end\n"+id+"_1: begin 1\n") {
		t.Errorf("logs -f of an array: %q", out)
	}
	want := fmt.Sprintf("%[1]s_1: end\n%[1]s_3: end\n%[1]s_5: end", id)
	if out := sh(t, "alice", "gpusched logs --failed -n 1 "+id); out != want {
		t.Errorf("the last lines of the failed tasks: %q", out)
	}
	if r := try(t, "bob", "gpusched logs "+id); r.Code != 4 || r.Stdout != "" {
		t.Errorf("bob reads %+v", r)
	}
}

// TestOutputInAFile: --log also writes the output to a file. A process in the job's unit opens the
// file as the job's user, so --log gives no access to files that this user could not open.
func TestOutputInAFile(t *testing.T) {
	begin(t)
	id := submit(t, "alice", `-g 0 --log logs/%j.txt -- sh -c 'printf "10%%\r"; seq 20000; echo err >&2; exit 3'`)
	mustEnd(t, wait(t, id), "failed", "exit code 3")
	file := fmt.Sprintf("logs/%d.txt", id)
	if out := sh(t, "alice", fmt.Sprintf("stat -c %%U,%%a %s; wc -l < %[1]s; tail -1 %[1]s", file)); out != "alice,644\n20001\nerr" {
		t.Errorf("the file: %q", out)
	}
	poll(t, "the journal has the same", func() bool {
		return try(t, "alice", fmt.Sprintf("gpusched logs %d > journal; cmp journal %s", id, file)).Code == 0
	})
	if out := sh(t, "alice", fmt.Sprintf("gpusched show %d | grep ' log '", id)); !strings.HasSuffix(out, "/"+file) {
		t.Errorf("show: %q", out)
	}
	if r := try(t, "alice", "gpusched submit -g 0 --log /etc/passwd -- true"); r.Code != 2 || !strings.Contains(r.Stderr, "can't write") {
		t.Errorf("a log that alice may not write: %+v", r)
	}
	// With --force the client accepts this path, but the unit checks the path again.
	passwd := sh(t, "", "md5sum /etc/passwd")
	id = submit(t, "alice", "-g 0 --force --log /etc/passwd -- echo x")
	mustEnd(t, wait(t, id), "completed", "exit code 0")
	if out := sh(t, "alice", fmt.Sprintf("gpusched logs %d", id)); !strings.Contains(out, "could not be opened: permission denied") ||
		!strings.HasSuffix(out, "\nx") || sh(t, "", "md5sum /etc/passwd") != passwd {
		t.Errorf("a log that alice may not write to: %q", out)
	}
}

// TestOutputOnAFullDisk: a job continues when the disk with its log file is full. The journal has
// all of its output.
func TestOutputOnAFullDisk(t *testing.T) {
	begin(t)
	sh(t, "", "mkdir -p /run/small && mount -t tmpfs -o size=64k,mode=1777 tmpfs /run/small")
	t.Cleanup(func() { sh(t, "", "umount -l /run/small") })
	id := submit(t, "alice", "-g 0 --log /run/small/log -- seq 50000")
	mustEnd(t, wait(t, id), "completed", "exit code 0")
	poll(t, "the journal has the last line, and what became of the log", func() bool {
		out := sh(t, "alice", fmt.Sprintf("gpusched logs %d > journal; grep -c '^[0-9]*$' journal; grep -o 'written to: no space.*device' journal || true", id))
		return out == "50000\nwritten to: no space left on device"
	})
}

// TestProgressIsLive: 'gpusched logs -f' of a job with --log shows an unfinished line while it
// grows, and does not add a line break.
func TestProgressIsLive(t *testing.T) {
	begin(t)
	sh(t, "alice", "rm -f go out bar.*")
	id := submit(t, "alice", `-g 0 --log bar.%j -- sh -c 'printf "10%%\r"; until [ -e go ]; do sleep 0.1; done; printf "100%%\n"'`)
	sh(t, "alice", fmt.Sprintf("setsid -f gpusched logs -f %d > out 2> err", id))
	poll(t, "the bar is seen", func() bool { return sh(t, "alice", "cat -v out") == "10%^M" })
	sh(t, "alice", "touch go")
	poll(t, "all is seen", func() bool {
		return sh(t, "alice", "cat -v out; cat err") ==
			fmt.Sprintf("10%%^M100%%\ngpusched: job %d completed: exit code 0", id)
	})
}

// TestOutputComesBack: 'gpusched logs' and 'gpusched run' show output exactly as it was printed:
// long lines, progress bars, bytes that are not text, and an unfinished last line.
func TestOutputComesBack(t *testing.T) {
	begin(t)
	sh(t, "alice", `printf '%0200000d\n10%%\r20%%\r100%%\n\351t\351\0nul\n{"end": 1}' 7 > printed`)
	id := submit(t, "alice", "-g 0 -- cat printed")
	mustEnd(t, wait(t, id), "completed", "exit code 0")
	poll(t, "the output is in the journal", func() bool {
		return sh(t, "alice", fmt.Sprintf("gpusched logs -n 1 %d", id)) == `{"end": 1}`
	})
	sh(t, "alice", fmt.Sprintf("gpusched logs %d | cmp - printed && gpusched run -g 0 -- cat printed 2> err | cmp - printed", id))
	sh(t, "alice", fmt.Sprintf(`gpusched logs -n 4 %d | cmp - printed && gpusched logs -f %[1]d | cmp - printed`, id))
	const lines = `gpusched logs -T %d | sed 's/^[^ ]* //' > timed; echo | cat printed - | cmp - timed`
	sh(t, "alice", fmt.Sprintf(lines, id))
	if out := sh(t, "alice", fmt.Sprintf("journalctl -aqu gpujob-%d", id)); strings.Contains(out, "blob data") {
		t.Errorf("journalctl as the README has it: %.300q", out)
	}
}

// TestOutputThatIsDropped: if the journal has dropped a job's output, 'gpusched logs' does not say
// "printed nothing".
func TestOutputThatIsDropped(t *testing.T) {
	begin(t)
	id := submit(t, "alice", "-g 0 -- echo something")
	mustEnd(t, wait(t, id), "completed", "exit code 0")
	logs := func() string { return sh(t, "alice", fmt.Sprintf("gpusched logs %d 2>&1", id)) }
	poll(t, "the output is in the journal", func() bool { return logs() == "something" })
	poll(t, "the journal has dropped it", func() bool {
		sh(t, "", "journalctl --rotate --vacuum-time=1us")
		return logs() != "something"
	})
	if out := logs(); !strings.HasPrefix(out, fmt.Sprintf("gpusched: job %d printed nothing, or the journal no longer has it", id)) {
		t.Errorf("logs: %q", out)
	}
	submit(t, "alice", "-g 0 --wait -- echo older")
	id = submit(t, "alice", "-g 0 --wait -- true")
	poll(t, "the journal is known to be complete", func() bool { return logs() == fmt.Sprintf("gpusched: job %d printed nothing", id) })
}

// TestAllThatWasPrinted: as soon as a job has ended, the daemon makes journald write the job's
// output. 'gpusched run' and 'gpusched logs' therefore print all of it at once, and need not wait
// for more.
func TestAllThatWasPrinted(t *testing.T) {
	begin(t)
	installProgram(t, "../attacker", attackerPath)
	const print = "sh -c 'seq 2000; echo the last >&2'"
	want := sh(t, "", print+" 2>&1")
	for range 5 {
		if got := sh(t, "alice", "gpusched run -q -g 0 -- "+print); got != want {
			t.Fatalf("run printed %d lines of 2001", strings.Count(got, "\n")+1)
		}
		id := submit(t, "alice", "--wait -g 0 -- "+print)
		if got := sh(t, "alice", fmt.Sprint("gpusched logs ", id)); got != want {
			t.Fatalf("logs printed %d lines of 2001", strings.Count(got, "\n")+1)
		}
		if got := sh(t, "alice", fmt.Sprintf("%s ask GET '/v1/jobs/%d?printed=1'", attackerPath, id)); !strings.Contains(got, `"printed":true`) {
			t.Fatalf("the daemon does not say that all output is printed: %s", got)
		}
	}
}
