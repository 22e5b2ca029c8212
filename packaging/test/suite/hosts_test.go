//go:build machine

package suite

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

// severalHosts adds hosts to alice's ssh configuration. The host a is this machine, b is this
// machine with the socket of alice's own scheduler, and bob is this machine with the account bob.
// The host gone refuses connections, and the host hangs never answers.
func severalHosts(t *testing.T) {
	t.Helper()
	ownScheduler(t)
	sh(t, "", `printf 'AcceptEnv GPUSCHED_SOCKET\n' >/etc/ssh/sshd_config.d/suite.conf; systemctl start ssh
		for u in alice bob; do install -d -m 700 -o $u -g $u /home/$u/.ssh; done
		cat >/home/alice/.ssh/config <<'END'
Host a b bob
 HostName 127.0.0.1
Host b
 SetEnv GPUSCHED_SOCKET=/run/user/1001/gpusched/gpusched.sock
Host bob
 User bob
Host gone
 HostName 127.0.0.1
 Port 9
Host hangs
 ProxyCommand sleep 1000
END
		chown alice: /home/alice/.ssh/config`)
	t.Cleanup(func() {
		sh(t, "", `systemctl stop ssh; rm -rf /etc/ssh/sshd_config.d/suite.conf /home/alice/.ssh /home/bob/.ssh
			rm -f /home/alice/followed /home/alice/waited /home/alice/go`)
	})
}

// newOn submits a job to a host and returns its id, such as "a:12".
func newOn(t *testing.T, args string) string {
	t.Helper()
	return sh(t, "alice", "gpusched "+args)
}

// asAlice returns a function that runs a command as alice. The function checks the exit status,
// checks that the output contains the given texts, and returns stdout.
func asAlice(t *testing.T) func(code int, command string, texts ...string) string {
	return func(code int, command string, texts ...string) string {
		t.Helper()
		r := try(t, "alice", command)
		for _, text := range texts {
			if !strings.Contains(r.Stdout+r.Stderr, text) {
				t.Errorf("%q does not say %q", command, text)
			}
		}
		if r.Code != code {
			t.Errorf("%q exits %d, not %d", command, r.Code, code)
		}
		if t.Failed() {
			t.Fatalf("%s%s", r.Stdout, r.Stderr)
		}
		return strings.TrimSpace(r.Stdout)
	}
}

// TestSeveralHosts: alice sees several schedulers in one view, over a real sshd. She queues jobs on
// another machine and follows them there, with the rights of the account on that machine. The view
// names a machine that does not answer.
func TestSeveralHosts(t *testing.T) {
	begin(t)
	severalHosts(t)
	says := asAlice(t)
	says(5, "gpusched --hosts a list", "a: ssh says: Host key verification failed", "accept it once with 'ssh a'")
	sh(t, "alice", "sed -s 's/^/127.0.0.1 /' /etc/ssh/ssh_host_*_key.pub >~/.ssh/known_hosts")
	says(5, "gpusched --hosts a list", "Permission denied", "ssh-copy-id a")
	sh(t, "alice", "ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519")
	sh(t, "", "for u in alice bob; do cp /home/alice/.ssh/id_ed25519.pub /home/$u/.ssh/authorized_keys; chown $u: /home/$u/.ssh/authorized_keys; done")

	// One view shows all machines and names the machine that does not answer.
	says(5, "gpusched --hosts a,gone,b status", "gone: ssh says: ", "Connection refused", "b:0 ")
	var list api.ListReply
	r := try(t, "alice", "gpusched --hosts a,gone,b list --json")
	if err := json.Unmarshal([]byte(r.Stdout), &list); err != nil || len(list.GPUs) != 8 || len(list.Hosts) != 3 || list.Hosts[1].Error == nil {
		t.Fatalf("%v: %s%s", err, r.Stdout, r.Stderr)
	}
	var silent sync.WaitGroup
	t.Cleanup(silent.Wait)
	silent.Go(func() { checkHang(t) }) // runs in the background, because it takes ten seconds

	// A job on another host starts in the directory of the same path, with the home of the account
	// on that host.
	one := newOn(t, "submit -q --host a -g 4 -t 1h -- bash -c 'echo here $PWD $HOME $SSH_AUTH_SOCK; sleep 1000'")
	if !strings.HasPrefix(one, "a:") {
		t.Fatalf("the first job is %q", one)
	}
	poll(t, "it runs", func() bool { return strings.Contains(sh(t, "alice", "gpusched show "+one), "running") })
	poll(t, "its output is there", func() bool { return sh(t, "alice", "gpusched logs "+one) == "here /home/alice /home/alice" })
	two := says(0, "gpusched --hosts a,b submit -q --host best -g 1 -- bash -c 'echo two; exit 3'")
	if !strings.HasPrefix(two, "b:") {
		t.Errorf("the best is %q", two)
	}
	says(0, "gpusched --hosts a,b submit --host best --dry-run -- true", "a: starts in about", "b: starts now", "on b:")
	says(3, "gpusched wait "+two, "job "+two+" failed: exit code 3")
	three := newOn(t, "submit -q --host a -g 1 -- true")
	says(0, "gpusched why "+three, "job "+three+" has waited")
	says(0, "gpusched --hosts b,a why", "job "+three+" has waited")
	says(2, "gpusched submit --host a -C /no/such -- true", `a: there is no directory "/no/such"`)
	says(0, fmt.Sprintf("gpusched cancel %s && gpusched list %s,%s -o ids", three, one, two), one, two)

	// The scheduler of a host treats the account of the ssh login as the caller.
	number := strings.TrimPrefix(one, "a:")
	says(4, "gpusched cancel bob:"+number, "bob: ")
	says(0, "gpusched cancel "+one, "job "+one+" is being ended")

	// Commands that wait for a job exit with the job's status and leave no process behind.
	says(7, "gpusched run --host a -g 1 -- bash -c 'echo out; exit 7'", "out")
	says(3, `script -qec "gpusched run --tty --host a -g 1 -- bash -c 'tty; exit 3'" /dev/null </dev/null`, "/dev/pts/")
	four := newOn(t, "submit -q --host a -g 1 -- sleep 1000")
	follows := sh(t, "alice", "gpusched logs -f "+four+" >~/followed 2>&1 & echo $!")
	shows := func() bool { return try(t, "", "pgrep -u alice -f '^[^ ]*gpusched __here'").Code == 0 }
	poll(t, "the output is shown", shows)
	sh(t, "alice", "kill "+follows)
	poll(t, "the process that showed the output has ended", func() bool { return !shows() })
	says(0, `gpusched exec `+four+` -- sh -c 'echo "a  b;$0"' 'x y'`, "a  b;x y")
	says(0, "gpusched cancel "+four)

	// sshd restarts while 'gpusched wait' runs.
	silent.Wait()
	five := newOn(t, "submit -q --host a -g 1 -- sh -c 'until [ -e ~/go ]; do sleep 0.1; done'")
	const there = " -u alice -f '^[^ ]*gpusched __document'"
	poll(t, "no client process is left", func() bool { return try(t, "", "pgrep"+there).Code != 0 })
	sh(t, "alice", "gpusched wait "+five+" >~/waited 2>&1 &")
	poll(t, "the wait runs there", func() bool { // a process that has lived for 2 s has received its first answer
		return try(t, "", "p=$(pgrep"+there+") && sleep 2 && [ \"$p\" = \"$(pgrep"+there+")\" ]").Code == 0
	})
	sh(t, "", "pkill"+there+" && systemctl restart ssh")
	sh(t, "alice", "touch ~/go")
	poll(t, "the wait has ended", func() bool { return strings.Contains(sh(t, "alice", "cat ~/waited"), "job "+five+" completed") })
}

// checkHang checks that a machine that never answers delays a command by at most ten seconds. If
// this machine is busy, even its own sshd may take longer to answer; checkHang then tries again.
func checkHang(t *testing.T) {
	t.Helper()
	for range 3 {
		began := time.Now()
		r := try(t, "alice", "gpusched --hosts hangs,a list")
		took, text := time.Since(began), r.Stdout+r.Stderr
		if !strings.Contains(text, "hangs: no answer within 10s") || r.Code != 5 {
			t.Errorf("exit %d\n%s", r.Code, text)
			return
		}
		if took > 20*time.Second*the.slow {
			t.Errorf("a machine that hangs takes %s", took)
		}
		if !strings.Contains(text, "a: no answer within 10s") {
			if !strings.Contains(text, "a:0 ") {
				t.Errorf("the other machine's GPUs are not shown:\n%s", text)
			}
			return
		}
	}
	t.Error("with one machine that hangs, the other never answers")
}
