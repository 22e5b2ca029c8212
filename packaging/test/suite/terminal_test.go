//go:build machine

package suite

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// TestTerminal: a job with a terminal survives the daemon and every attached client. Input that is
// typed after a kill -9 of the daemon still arrives, and another client sees the current screen. A
// command of 'gpusched exec' can open only the job's GPU. Another user has no access to the
// terminal.
func TestTerminal(t *testing.T) {
	begin(t)
	sh(t, "alice", `rm -f ~/keys ~/screen; mkfifo ~/keys
		(script -qfec "stty rows 33 cols 99; exec gpusched run --tty -g 1 -n held -- bash -i" ~/screen < ~/keys; echo $? > ~/ended) > /dev/null 2>&1 &
		exec 3<> ~/keys; sleep infinity >&3 2>/dev/null & echo $! > ~/keeper`)
	t.Cleanup(func() {
		try(t, "alice", "kill $(cat ~/keeper); gpusched cancel name:held; rm -f ~/keys ~/screen ~/ended ~/keeper")
	})
	types := func(text string) { sh(t, "alice", "printf '"+text+"' > ~/keys") }
	shows := func(file, text string) {
		t.Helper()
		poll(t, text+" is on the screen", func() bool { return strings.Contains(sh(t, "alice", "cat "+file+" 2>/dev/null || true"), text) })
	}
	shows("~/screen", "Ctrl-P Ctrl-Q leaves it")
	types(`stty size; echo uid $(id -un) gpu $GPUSCHED_GPU_IDS end\n`)
	shows("~/screen", "33 99")
	shows("~/screen", "uid alice gpu ")
	sh(t, "", "systemctl kill -s KILL gpusched")
	types(`echo still $((40+2)) here\n`)
	shows("~/screen", "still 42 here")

	id, err := strconv.ParseInt(strings.TrimSpace(sh(t, "alice", "gpusched list -o ids --mine")), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	name := strconv.FormatInt(id, 10)
	if got := sh(t, "alice", "gpusched exec "+name+" -- sh -c 'cat /proc/self/cgroup; for i in 0 1 2 3; do (: < /dev/nvidia$i) 2>/dev/null || echo closed $i; done; cat' <<< input"); strings.Count(got, "closed") < 3 || !strings.Contains(got, "gpujob-"+name+".service") || !strings.Contains(got, "input") {
		t.Errorf("exec: %q", got)
	}
	mustFail(t, "bob", "gpusched exec "+name+" -- id", 4, "job "+name+" belongs to alice")
	const knock = `perl -MSocket -e '$SIG{PIPE} = "IGNORE";
		open(F, "/proc/net/unix"); ($name) = map { /@(gpusched-terminal-%s-\S+)/ ? $1 : () } <F>;
		socket(S, PF_UNIX, SOCK_STREAM, 0); connect(S, pack_sockaddr_un("\0$name")) or die "connect: $!";
		syswrite(S, "h\0\2{}"); print sysread(S, $b, 3) ? "let in" : "turned away"'`
	for user, want := range map[string]string{"bob": "turned away", "alice": "let in", "": "let in"} {
		if got := sh(t, user, fmt.Sprintf(knock, name)); got != want {
			t.Errorf("%q past the client is %s", user, got)
		}
	}
	sh(t, "alice", `(printf '\020'; sleep 1; printf '\021') | script -qfec "gpusched attach `+name+`" ~/screen2 > /dev/null 2>&1`)
	shows("~/screen2", "still 42 here")
	shows("~/screen2", "goes on")
	types(`exit 7\n`)
	mustEnd(t, wait(t, id), "failed", "exit code 7")
	poll(t, "run exits with the job's status", func() bool { return strings.TrimSpace(sh(t, "alice", "cat ~/ended 2>/dev/null || true")) == "7" })
	if got := output(t, "alice", id); !strings.Contains(got, "still 42 here") {
		t.Errorf("the journal has %q", got)
	}
	if got := sh(t, "", "cat /proc/net/unix"); strings.Contains(got, "gpusched-terminal-"+name+"-") {
		t.Error("its socket is still there")
	}
}

// TestRun: 'gpusched run' prints all output of its job, even if the daemon is killed meanwhile, and
// exits with the job's status.
func TestRun(t *testing.T) {
	begin(t)
	r := try(t, "alice", "gpusched run -q -g 0 -- sh -c 'echo first; echo second >&2; exit 3' 2> ~/talk; echo status $?; cat ~/talk")
	if r.Stdout != "first\nsecond\nstatus 3\n" {
		t.Errorf("%q", r.Stdout)
	}
	sh(t, "alice", `rm -f ~/go ~/shown; (gpusched run -g 0 -n stays -- sh -c 'echo begun; until [ -e ~/go ]; do sleep 0.1; done; echo over' > ~/shown 2>&1; echo $? >> ~/shown) > /dev/null 2>&1 &`)
	shown := func() string { return sh(t, "alice", "cat ~/shown 2>/dev/null || true") }
	poll(t, "the job has begun", func() bool { return strings.Contains(shown(), "begun") })
	sh(t, "", "systemctl kill -s KILL gpusched")
	sh(t, "alice", "touch ~/go")
	poll(t, "run has ended", func() bool { return strings.HasSuffix(shown(), "completed: exit code 0\n0") })
	if !strings.Contains(shown(), "over\n") {
		t.Errorf("%q", shown())
	}
}

// TestExec: 'gpusched exec' runs a command in the unit of a running job, with the job's
// environment, directory and limits. The command can open only the job's GPU. It ends when the job
// ends, even if it ignores signals. Only the job's owner may use exec.
func TestExec(t *testing.T) {
	begin(t)
	sh(t, "alice", "rm -f ~/go ~/inside")
	name := strings.TrimSpace(sh(t, "alice", `cd /tmp && ulimit -v 6000000 && gpusched submit -q --gpu-ids 0 -e OF_JOB=yes -- sh -c 'until [ -e ~/go ]; do sleep 0.1; done'`))
	t.Cleanup(func() { try(t, "alice", "gpusched cancel "+name+"; rm -f ~/go ~/inside") })
	poll(t, "it runs", func() bool {
		return strings.Contains(sh(t, "alice", "gpusched list -o jsonl --mine"), `"state":"running"`)
	})
	got := sh(t, "alice", "gpusched exec "+name+` -- sh -c 'cat /proc/self/cgroup; id -un; pwd; ulimit -v; echo $OF_JOB;
		for i in 0 1 2 3; do (: < /dev/nvidia$i) 2>&1 | grep -q "not permitted" && echo closed $i; done; cat' <<< typed`)
	for _, want := range []string{"gpujob-" + name + ".service", "alice\n/tmp\n6000000\nyes\n", "typed"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if strings.Count(got, "closed") != 3 || strings.Contains(got, "closed 0") {
		t.Errorf("other GPUs than the job's: %q", got)
	}
	if got := sh(t, "", "gpusched exec "+name+" -- id -un"); strings.TrimSpace(got) != "alice" {
		t.Errorf("root runs a command as %q", got)
	}
	mustFail(t, "bob", "gpusched exec "+name+" -- id", 4, "job "+name+" belongs to alice")
	sh(t, "alice", "(gpusched exec "+name+` -- sh -c 'trap "" TERM HUP; echo inside; sleep 654 & wait; sleep 654' > ~/inside 2>&1; echo ended >> ~/inside) > /dev/null 2>&1 &`)
	inside := func() string { return sh(t, "alice", "cat ~/inside 2>/dev/null || true") }
	poll(t, "it is in the job", func() bool { return strings.Contains(inside(), "inside") })
	sh(t, "alice", "touch ~/go")
	id, err := strconv.ParseInt(name, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, wait(t, id), "completed", "exit code 0")
	poll(t, "exec has ended", func() bool { return strings.Contains(inside(), "ended") })
	poll(t, "nothing is left", func() bool { return sh(t, "", "pgrep -f '^sleep 654' || true") == "" })
}

// decoys is a program that creates busy sockets with names like that of a job's terminal, and that
// keeps the real socket busy too.
const decoys = `import socket, sys, threading
job = sys.argv[1]
true = [l.split()[-1] for l in open("/proc/net/unix") if "@gpusched-terminal-" + job + "-" in l][0]
kept = []
for i in range(600):
    s = socket.socket(socket.AF_UNIX)
    s.bind("\0gpusched-terminal-%s-%026d" % (job, i))
    s.listen(0)
    kept.append(s)
    for _ in range(2):
        c = socket.socket(socket.AF_UNIX)
        c.setblocking(False)
        try:
            c.connect("\0gpusched-terminal-%s-%026d" % (job, i))
        except BlockingIOError:
            pass
        kept.append(c)
def knock():
    while True:
        with socket.socket(socket.AF_UNIX) as c:
            try:
                c.connect("\0" + true[1:])
            except OSError:
                pass
for _ in range(50):
    threading.Thread(target=knock, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
`

// TestTerminalAmongDecoys: another user creates many sockets with names like that of the job's
// terminal, and connects to the real socket again and again. The owner can still attach.
func TestTerminalAmongDecoys(t *testing.T) {
	begin(t)
	if err := the.WriteFile(t.Context(), "/usr/local/bin/decoys.py", decoys, 0o755); err != nil {
		t.Fatal(err)
	}
	sh(t, "alice", `(sleep infinity | script -qfec "gpusched run --tty -g 0 -n term -- sleep 1000" /dev/null >/dev/null 2>&1) & echo $! >~/keeper`)
	t.Cleanup(func() {
		try(t, "bob", "pkill -f decoys.py; pkill -u bob -x sleep; rm -f ~/ready")
		try(t, "alice", "gpusched cancel --mine; pkill -P $(cat ~/keeper); rm -f ~/keeper")
	})
	poll(t, "it runs", func() bool { return sh(t, "alice", "gpusched list --mine --state running -o ids") != "" })
	id := sh(t, "alice", "gpusched list --mine -o ids")
	poll(t, "its terminal is there", func() bool { return try(t, "", "grep gpusched-terminal-"+id+"- /proc/net/unix").Code == 0 })
	sh(t, "bob", "ulimit -n $(ulimit -Hn); (sleep infinity | python3 /usr/local/bin/decoys.py "+id+" >~/ready 2>&1) &")
	poll(t, "the decoys are there", func() bool {
		return strings.Contains(try(t, "bob", "cat ~/ready >&2; cat ~/ready").Stdout, "ready")
	})
	for range 3 {
		sh(t, "alice", "gpusched exec "+id+" -- true")
	}
}
