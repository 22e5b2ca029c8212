//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// This script submits a job from a process whose parent opened the connection and has exited. The
// kernel names the parent as the peer, but nobody can read the parent's limits any more.
const orphan = `import os, socket
body = b'{"name":"x","gpu_milli":0,"argv":["dHJ1ZQ=="],"env_mode":"clean","dir":"Lw=="}'
s = socket.socket(socket.AF_UNIX)
s.connect("/run/gpusched/gpusched.sock")
r, w = os.pipe()
if os.fork():
    os._exit(0)
os.close(w)
while os.getppid() == PARENT:
    pass
s.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
out = b""
while got := s.recv(65536):
    out += got
open("orphan.out", "wb").write(out)
os.rename("orphan.out", "orphan.done")
`

// asBob begins a command line that runs a program as bob. More options of setpriv may follow it.
const asBob = "setpriv --reuid bob --regid bob --init-groups "

// TestAttackerSubmitter: a submitter cannot escape its resource limits by exiting, and cannot
// escape a sandbox by using the socket. The site may allow submissions from sandboxes. If it does,
// a job of a hardened service has rights that the service itself gave up.
func TestAttackerSubmitter(t *testing.T) {
	begin(t)
	if err := the.WriteFile(t.Context(), "/usr/local/bin/orphan.py", strings.Replace(orphan, "PARENT", "int(os.environ['PARENT'])", 1), 0o755); err != nil {
		t.Fatal(err)
	}
	out := sh(t, "bob", "cd; rm -f orphan.*; ulimit -u 3000; sh -c 'PARENT=$$ exec python3 /usr/local/bin/orphan.py'; for i in $(seq 100); do [ -e orphan.done ] && break; sleep 0.1; done; cat orphan.done")
	if !strings.Contains(out, " 403 ") || !strings.Contains(out, "it has ended") {
		t.Errorf("a submission of a process that has ended: %s", out)
	}
	const submits = "gpusched submit -q --wait -g 0 --env clean -- sh -c 'grep NoNewPrivs /proc/self/status'"
	for what, in := range map[string]string{
		"no_new_privs":           "setpriv --no-new-privs ",
		"another user namespace": "unshare -Ur ",
	} {
		mustFail(t, "bob", in+submits, 4, what)
	}
	mustFail(t, "", "cd /; "+asBob+"--bounding-set -all "+submits, 4, "CapBnd")
	sh(t, "", "cd /; "+asBob+submits)
	mustFail(t, "", "systemd-run --quiet --wait --pipe -p SystemCallFilter=@system-service "+submits, 4, "seccomp")
	mustFail(t, "", "systemd-run --quiet --wait --pipe --uid bob -p PrivateUsers=yes "+submits, 4, "another user namespace")
	mustFail(t, "", "systemd-run --quiet --wait --pipe --uid bob -p PrivateNetwork=yes "+submits, 4, "another network namespace")
	mustFail(t, "", "systemd-run --quiet --wait --pipe --uid bob -p TemporaryFileSystem=/:ro "+
		"-p 'BindReadOnlyPaths=/usr /bin /lib -/lib64 /etc /run' "+submits, 4, "another root directory")
	sh(t, "bob", submits)
	sh(t, "", "systemd-run --quiet --wait --pipe --uid bob -p ProtectSystem=strict -p PrivateTmp=yes "+submits)
	settings(t, "[jobs]\nallow_sandboxed = true")
	sh(t, "bob", "setpriv --no-new-privs "+submits)
}

// TestAttackerInSandbox: a sandboxed process cannot leave its sandbox through another job of the
// same user. It makes no difference whether that job has a terminal, or whether somebody else has
// already attached to it. The process cannot use the job's socket directly either. Root and the
// user's ordinary sessions can attach, whichever of the user's groups is the session's primary
// group.
func TestAttackerInSandbox(t *testing.T) {
	begin(t)
	sh(t, "bob", `(sleep infinity | script -qfec "gpusched run --tty -g 0 -n term -- sleep 1000" /dev/null >/dev/null 2>&1) & echo $! >~/keeper`)
	t.Cleanup(func() { try(t, "bob", "gpusched cancel --mine; pkill -P $(cat ~/keeper); rm -f ~/keeper") })
	poll(t, "it runs", func() bool { return sh(t, "bob", "gpusched list --mine --state running -o ids") != "" })
	term := sh(t, "bob", "gpusched list --mine -o ids")
	plainID := submit(t, "bob", "-g 0 -- env -i PATH=/usr/bin:/bin sleep 1000") // without variables named GPUSCHED_…
	waitRun(t, plainID)
	plain := fmt.Sprint(plainID)
	boxes := map[string][2]string{ // the user of each session, and the sandbox around it
		"no_new_privs":           {"bob", "setpriv --no-new-privs "},
		"another user namespace": {"bob", "unshare -U --map-current-user "},
		"another pid namespace":  {"", "unshare -p -f " + asBob},
		"CapBnd":                 {"", asBob + "--bounding-set -all "},
		"another root directory": {"", "systemd-run --quiet --wait --pipe --uid bob -p TemporaryFileSystem=/:ro -p 'BindReadOnlyPaths=/usr /bin /lib -/lib64 /etc /run' "},
		"seccomp":                {"", "systemd-run --quiet --wait --pipe -p SystemCallFilter=@system-service "},
	}
	sh(t, "", "groupadd -f crew && gpasswd -a bob crew >/dev/null")
	t.Cleanup(func() { try(t, "", "groupdel crew") })
	const command = " -- grep -c . /proc/self/status"
	closed := func(jobs ...string) {
		t.Helper()
		for what, in := range boxes {
			for _, id := range jobs {
				mustFail(t, in[0], in[1]+"gpusched exec "+id+command, 4, what)
			}
		}
	}
	closed(plain, term)
	mustFail(t, "", "systemd-run --quiet --wait --pipe --uid bob -p PrivateNetwork=yes gpusched exec "+plain+command, 4, "another network namespace")
	sh(t, "bob", "gpusched exec "+plain+command)
	sh(t, "", "gpusched exec "+plain+command)
	for _, id := range []string{plain, term} { // whatever the primary group is, only a sandbox is refused
		sh(t, "bob", "sg crew -c 'gpusched exec "+id+command+"'")
		mustFail(t, "bob", "sg crew -c 'unshare -U --map-current-user gpusched exec "+id+command+"'", 4, "another user namespace")
	}
	closed(plain)
	if r := try(t, "bob", `setpriv --no-new-privs script -qec "gpusched attach `+term+`" /dev/null </dev/null`); r.Code != 4 || !strings.Contains(r.Stdout, "no_new_privs") {
		t.Errorf("attach from a sandbox: exit %d, %s", r.Code, r.Stdout)
	}
	settings(t, "[jobs]\nallow_sandboxed = true")
	mustFail(t, "bob", "setpriv --no-new-privs gpusched exec "+term+command, 4, "no_new_privs")
	sh(t, "bob", "gpusched requeue "+plain)
	poll(t, "it runs again", func() bool { j := show(t, "bob", plainID); return j.State == "running" && j.Attempt == 2 })
	sh(t, "bob", "setpriv --no-new-privs gpusched exec "+plain+command)
}

// TestAttackerGroup: a user who was removed from a group gets the group back neither through a job
// that was submitted before and still waits, nor through a session that still has the group. The
// job of a user who is a member again has the group.
func TestAttackerGroup(t *testing.T) {
	begin(t)
	sh(t, "", "gpasswd -a bob gpusched-admin >/dev/null")
	defer sh(t, "", "gpasswd -d bob gpusched-admin >/dev/null 2>&1 || true")
	victim := submit(t, "alice", "-g 0 --hold -- true")
	ids := []int64{0, 0}
	for i := range ids {
		out := sh(t, "bob", fmt.Sprintf("sg gpusched-admin -c 'gpusched submit -q -g 0 --hold --env clean -- sh -c \"id -gn; gpusched cancel %d\"'", victim))
		if _, err := fmt.Sscan(out, &ids[i]); err != nil {
			t.Fatal(out)
		}
	}
	const session = "setpriv --reuid bob --regid bob --groups $(getent group gpusched-admin | cut -d: -f3) "
	sh(t, "", fmt.Sprintf(session+"gpusched hold %d", victim))
	sh(t, "", "gpasswd -d bob gpusched-admin >/dev/null")
	mustFail(t, "", fmt.Sprintf(session+"gpusched cancel %d", victim), 4, "belongs to alice")
	sh(t, "", fmt.Sprintf("gpusched release %d", ids[0]))
	wait(t, ids[0])
	if out := output(t, "", ids[0]); !strings.HasPrefix(out, "bob\n") || show(t, "", victim).State != "queued" {
		t.Errorf("a job of a former member's: %q; alice's is %s", out, show(t, "", victim).State)
	}
	sh(t, "", "gpasswd -a bob gpusched-admin >/dev/null")
	sh(t, "", fmt.Sprintf("gpusched release %d", ids[1]))
	wait(t, ids[1])
	if out := output(t, "", ids[1]); !strings.HasPrefix(out, "gpusched-admin\n") || show(t, "", victim).State != "cancelled" {
		t.Errorf("a job of a member's: %q; alice's is %s", out, show(t, "", victim).State)
	}
}
