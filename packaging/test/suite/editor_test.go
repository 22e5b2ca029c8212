//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// sshIntoJobs starts sshd, which lets alice log in to this machine as gpubox. It makes keys for
// alice and bob, and the section of alice's ~/.ssh/config for the job ide with one GPU.
func sshIntoJobs(t *testing.T) {
	t.Helper()
	sh(t, "", "systemctl start ssh")
	t.Cleanup(func() {
		try(t, "", "gpusched cancel --yes --user alice; systemctl stop ssh; rm -rf /home/*/.ssh /home/alice/.config/gpusched /home/alice/elsewhere /home/alice/got")
	})
	for _, user := range []string{"alice", "bob"} {
		sh(t, user, "install -d -m 700 ~/.ssh; ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519")
	}
	sh(t, "alice", `cp ~/.ssh/id_ed25519.pub ~/.ssh/authorized_keys
		(gpusched ssh-config -g 1 -t 1h gpubox; printf 'Host gpubox\n StrictHostKeyChecking accept-new\n LogLevel ERROR\n') >~/.ssh/config; ssh gpubox true`)
}

// holders returns alice's jobs that are waiting or running, as numbers separated by blanks.
func holders(t *testing.T) string {
	t.Helper()
	return strings.Join(strings.Fields(sh(t, "alice", "gpusched list --mine -o ids")), " ")
}

// TestEditor: ssh, sftp and a forwarded port get into a job through the machine's own sshd. Two
// connections share the job. What the connections start is in the job's unit and behind the job's
// device filter. The connections end with the job; the job survives the end of a connection.
func TestEditor(t *testing.T) {
	begin(t)
	sshIntoJobs(t)
	got := sh(t, "alice", "ssh gpubox-ide 'cat /proc/self/cgroup; echo $CUDA_VISIBLE_DEVICES $GPUSCHED_JOB_ID; for i in 0 1 2 3; do (: </dev/nvidia$i) 2>&1; done; true' 2>&1")
	id := holders(t)
	if !strings.Contains(got, "/gpujob-"+id+".service\n0 "+id+"\n") || strings.Count(got, "Operation not permitted") != 3 {
		t.Fatalf("in job %s: %s", id, got)
	}
	t.Logf("the first connection says: %s", got)

	// A binary file arrives unchanged both ways, and a port leads into the job.
	sh(t, "alice", `head -c 3000000 /dev/urandom >~/got; printf 'put got elsewhere\nget elsewhere got2\n' | sftp -q -b - gpubox-ide >/dev/null
		cmp got elsewhere && cmp got got2 && rm got2; ssh gpubox-ide cat <got | cmp - got`)
	port := sh(t, "alice", `ssh gpubox-ide 'python3 -c "
import socket, os
s = socket.create_server((\"127.0.0.1\", 0)); print(s.getsockname()[1], flush=True)
if os.fork(): os._exit(0)
os.setsid(); os.close(1); os.close(2); os.close(0)
while True: c = s.accept()[0]; c.sendall(open(\"/proc/self/cgroup\", \"rb\").read()); c.close()
"'`)
	if got := sh(t, "alice", `ssh -N -L 7777:127.0.0.1:`+port+` gpubox-ide & pid=$!
		until python3 -c 'import socket; print(socket.create_connection(("127.0.0.1", 7777)).recv(1000))' 2>/dev/null; do sleep 0.1; done; kill $pid`); !strings.Contains(got, "gpujob-"+id+".service") {
		t.Errorf("the port leads to %s", got)
	}

	// Connections end with the job.
	sh(t, "alice", "for i in 1 2; do ssh gpubox-ide 'echo in; sleep 1000' >~/got.$i 2>&1 & done")
	poll(t, "two are connected", func() bool { return try(t, "alice", "cat ~/got.1 ~/got.2").Stdout == "in\nin\n" })
	if again := holders(t); again != id {
		t.Errorf("the connections have jobs %s, not %s", again, id)
	}
	sh(t, "alice", "gpusched cancel "+id)
	poll(t, "both are closed", func() bool {
		return try(t, "alice", "pgrep -x ssh").Code == 1
	})
	sh(t, "alice", "rm -f ~/got.*")
}

// TestEditorTools: where login sessions can't open GPUs, an ssh into a job still opens the job's
// GPU. Everything that editors do with ssh works there: terminals, both protocols of scp, a
// forwarded agent, one connection for several sessions, and ports and sockets that are forwarded in
// all directions. What an editor starts continues after the end of the editor's connection.
func TestEditorTools(t *testing.T) {
	begin(t)
	sshIntoJobs(t)
	const (
		fence = "/etc/systemd/system/*.d/50-gpusched-fence.conf"
		login = "/run/systemd/system/ssh.service.d" // the machine has no logind, so sshd itself is in alice's slice
		opens = "'for i in 0 1 2 3; do (: </dev/nvidia$i) 2>&1; done; true' 2>/dev/null"
	)
	t.Cleanup(func() {
		try(t, "", "rm -f "+fence+"; rm -rf "+login+"; systemctl stop ssh user-1001.slice; systemctl daemon-reload")
	})
	sh(t, "", "cp -rs /usr/share/gpusched/fence/. /etc/systemd/system/; mkdir -p "+login+"; printf '[Service]\nSlice=user-1001.slice\n' >"+login+"/slice.conf; systemctl daemon-reload; systemctl restart ssh")
	if got := sh(t, "alice", "ssh gpubox "+opens); strings.Count(got, "Operation not permitted") != 4 {
		t.Errorf("a session opens GPUs: %s", got)
	}
	if got := sh(t, "alice", "ssh gpubox-ide "+opens); strings.Count(got, "Operation not permitted") != 3 || !strings.Contains(got, "nvidia0: No such device") {
		t.Errorf("in the job: %s", got)
	}
	within := "/gpujob-" + holders(t) + ".service\n"
	sh(t, "alice", "head -c 300000 /dev/urandom >~/got")
	port := sh(t, "alice", "ssh gpubox-ide python3 - <<'END'\n"+serveGroup+"END")
	// This server at port 7001 is like one on the user's own computer.
	sh(t, "alice", "cat >~/.ssh/here.py <<'END'\n"+strings.NewReplacer("0))", "7001))", "elsewhere", ".ssh/here.sock").Replace(serveGroup)+"END\npython3 ~/.ssh/here.py")
	for _, c := range []struct{ what, script, says string }{
		{"a terminal", "ssh -tt gpubox-ide 'tty && cat /proc/self/cgroup' </dev/null | tr -d '\\r'", within},
		{"sftp", "printf 'put got .ssh/got\n' | sftp -q -b - gpubox-ide >/dev/null && cmp got .ssh/got", ""},
		{"scp", "scp -q got gpubox-ide:.ssh/got.new && cmp got .ssh/got.new", ""},
		{"scp by its old protocol", "scp -q -O got gpubox-ide:.ssh/got.old && scp -q -O gpubox-ide:.ssh/got.old .ssh/got.back && cmp got .ssh/got.back", ""},
		{"an archive", "tar -c got | ssh gpubox-ide 'mkdir -p .ssh/server && tar -x -C .ssh/server' && cmp got .ssh/server/got", ""},
		{"an agent", "eval $(ssh-agent) >/dev/null; ssh-add -q; ssh -A gpubox-ide ssh-add -l; ssh-agent -k >/dev/null", "(ED25519)"},
		{"one connection for two sessions", "ssh -M -N -f -S ~/.ssh/mux gpubox-ide; ssh -S ~/.ssh/mux none cat /proc/self/cgroup; ssh -S ~/.ssh/mux -O exit none", within},
		{"-L to a port", asks("-L 7002:127.0.0.1:"+port, "7002"), within},
		{"-L to a socket", asks("-L 7002:/home/alice/elsewhere", "7002"), within},
		{"-L from a socket", asks("-L /home/alice/.ssh/l.sock:127.0.0.1:"+port, "/home/alice/.ssh/l.sock"), within},
		{"-D", asks("-D 7002", "7002 "+port), within},
		{"-R from a port", "ssh -R 7002:127.0.0.1:7001 gpubox-ide python3 .ssh/ask.py 7002", "/vm-run"},
		{"-R from a socket", "ssh -R /home/alice/.ssh/r.sock:/home/alice/.ssh/here.sock gpubox-ide python3 .ssh/ask.py /home/alice/.ssh/r.sock", "/vm-run"},
	} {
		if r := try(t, "alice", "cat >~/.ssh/ask.py <<'END'\n"+askFor+"END\n"+c.script); r.Code != 0 || !strings.Contains(r.Stdout+"\n", c.says) {
			t.Errorf("%s: %+v", c.what, r)
		}
	}
	sh(t, "alice", "pkill -f here.py")
}

// serveGroup is a program that sends the path of its control group to everybody who connects to its
// port or its socket. It prints the number of the port.
const serveGroup = `
import os, socket
tcp, unix = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX)
unix.bind(os.path.expanduser("~/elsewhere")); unix.listen()
print(tcp.getsockname()[1], flush=True)
if os.fork(): os._exit(0)
os.setsid()
for fd in 0, 1, 2: os.close(fd)
listener = tcp if os.fork() else unix
while True: c = listener.accept()[0]; c.sendall(open("/proc/self/cgroup", "rb").read()); c.close()
`

// askFor is a program that connects to a port or a socket, and prints what it gets. With two ports,
// it connects to the second through a SOCKS proxy at the first.
const askFor = `
import socket, sys
at = sys.argv[1]
if at[0] == "/": s = socket.socket(socket.AF_UNIX); s.connect(at)
else: s = socket.create_connection(("127.0.0.1", int(at)))
if len(sys.argv) > 2:
    s.sendall(b"\5\1\0"); s.recv(2)
    s.sendall(b"\5\1\0\1\x7f\0\0\1" + int(sys.argv[2]).to_bytes(2, "big")); s.recv(10)
print(s.recv(1000).decode())
`

// asks returns a script. It starts an ssh with these options, which forward a port or a socket, and
// connects through it.
func asks(options, where string) string {
	return "ssh -N -o ExitOnForwardFailure=yes " + options + ` gpubox-ide & pid=$!
		for i in $(seq 100); do python3 ~/.ssh/ask.py ` + where + " 2>/dev/null && break; sleep 0.1; done; kill $pid"
}

// TestEditorRefuses: only the user's own keys open a job, and only a host key that nobody else can
// replace is used. A job of another user is not found by its name.
func TestEditorRefuses(t *testing.T) {
	begin(t)
	sshIntoJobs(t)
	other := submit(t, "bob", "-g 1 -t 1h -n ide -- sleep 1000")
	t.Cleanup(func() { cancel(t, "bob", other) })
	key := sh(t, "bob", "cat ~/.ssh/id_ed25519")
	sh(t, "alice", "(umask 077; cat >~/got) <<'END'\n"+key+"\nEND\nssh gpubox-ide true")
	if r := try(t, "alice", "ssh -i ~/got -o IdentitiesOnly=yes -o IdentityAgent=none gpubox-ide id"); r.Code != 255 || !strings.Contains(r.Stderr, "Permission denied (publickey)") {
		t.Errorf("bob's key: %+v", r)
	}
	if r := try(t, "alice", "ssh -l bob gpubox-ide id"); r.Code != 255 {
		t.Errorf("as bob: %+v", r)
	}
	id := strings.Fields(holders(t))
	if len(id) != 1 || id[0] == fmt.Sprint(other) {
		t.Errorf("alice has the jobs %s", id)
	}
	for what, c := range map[string]struct{ do, says string }{
		"a key that others can read":      {"chmod 644 ssh_host_ed25519_key", "can be read by others"},
		"a directory that others write":   {"chmod 777 .", "can be written by others"},
		"a link to a file of another":     {"mv ssh_host_ed25519_key kept; ln -s /home/bob/.ssh/id_ed25519.pub ssh_host_ed25519_key", "ssh_host_ed25519_key"},
		"a link that leads to no file":    {"mv ssh_host_ed25519_key kept; ln -s nowhere ssh_host_ed25519_key", "ssh_host_ed25519_key"},
		"a directory instead of the file": {"mv ssh_host_ed25519_key kept; mkdir -m 700 ssh_host_ed25519_key", "is not a file"},
	} {
		sh(t, "alice", "cd ~/.config/gpusched; "+c.do)
		if r := try(t, "alice", "ssh gpubox-ide true"); r.Code != 255 || !strings.Contains(r.Stderr, c.says) {
			t.Errorf("%s: %+v", what, r)
		}
		sh(t, "alice", "cd ~/.config/gpusched; chmod 700 .; if [ -e kept ]; then rm -rf ssh_host_ed25519_key; mv kept ssh_host_ed25519_key; fi; chmod 600 ssh_host_ed25519_key; ssh gpubox-ide true")
	}
	sh(t, "", "mv /usr/sbin/sshd /usr/sbin/sshd.away")
	r := try(t, "alice", "gpusched proxy")
	sh(t, "", "mv /usr/sbin/sshd.away /usr/sbin/sshd")
	if r.Code == 0 || !strings.Contains(r.Stderr, "the package openssh-server") || r.Stdout != "" {
		t.Errorf("without sshd: %+v", r)
	}
}

// TestEditorWaits: proxies that start at the same time queue one job and say its place in the
// queue. The job leaves the queue when nobody waits for it. It ends if nobody connects, or when
// nobody uses it any more.
func TestEditorWaits(t *testing.T) {
	begin(t)
	settings(t, quickSampling)
	gpusSeen(t)
	sshIntoJobs(t)
	all := submit(t, "bob", "-g 4 -t 1h -- sleep 1000")
	poll(t, "bob has all GPUs", func() bool { return show(t, "bob", all).State == job.Running })

	sh(t, "alice", "for i in 1 2 3 4; do ssh gpubox-ide 'echo in $GPUSCHED_JOB_ID' >~/got.$i 2>&1 & echo $! >~/pid.$i; done")
	poll(t, "all of them wait", func() bool {
		return strings.Count(try(t, "alice", "cat ~/got.*").Stdout, "queued, first: ") == 4
	})
	id := holders(t)
	sh(t, "alice", "kill $(cat ~/pid.1 ~/pid.2)")
	var lost string
	if r := try(t, "alice", "timeout -s INT 3 gpusched proxy --name lost"); r.Code == 0 || r.Stdout != "" {
		t.Errorf("interrupted: %+v", r)
	}
	if now := holders(t); now != id {
		t.Errorf("after Ctrl-C the jobs are %s", now)
	}
	sh(t, "alice", "timeout -s KILL 3 sleep 1000 | gpusched proxy --name lost -t 1h >~/got.lost 2>&1 & true")
	poll(t, "the other job waits", func() bool {
		lost = strings.TrimSpace(try(t, "alice", "gpusched list --mine --name lost -o ids").Stdout)
		return lost != ""
	})
	if r := tryFor(t, "alice", "gpusched wait "+lost, 3*time.Minute); !strings.Contains(r.Stdout+r.Stderr, "cancelled by alice") {
		t.Errorf("a job for which nobody waits: %+v", r)
	}
	if now := holders(t); now != id {
		t.Errorf("two still wait, and the jobs are %s, not %s", now, id)
	}
	cancel(t, "bob", all)
	poll(t, "two are in", func() bool { return strings.Count(try(t, "alice", "cat ~/got.*").Stdout, "in "+id+"\n") == 2 })
	sh(t, "alice", "rm -f ~/got.* ~/pid.*; gpusched cancel "+id+"; gpusched wait -q "+id+" || true")

	for _, line := range []string{"ssh gpubox-short true", "gpusched submit -q -n short -- \"$(command -v gpusched)\" hold-for-ssh 3s"} {
		sh(t, "alice", "gpusched ssh-config --name short -g 1 --idle 3s gpubox >>~/.ssh/config; "+line)
		id := holders(t)
		if r := try(t, "alice", "gpusched wait "+id+"; gpusched logs "+id); !strings.Contains(r.Stdout, "completed") || !strings.Contains(r.Stdout, "so the job ends") {
			t.Errorf("after %s: %+v", line, r)
		}
	}
}
