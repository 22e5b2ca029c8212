//go:build machine

package suite

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/gpu/fakenvml"
	"github.com/gpusched/gpusched/packaging/test/vm"
)

// anotherBox boots a second box with eight GPUs and its own
// gpusched. A network connects it to the box of the tests.
func anotherBox(t *testing.T) (*vm.Machine, *vm.Wire) {
	t.Helper()
	ctx := t.Context()
	lib, err := fakenvml.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m, err := vm.Start(ctx, vm.Box, vm.Options{Suite: vm.Suite(*suite), Log: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := vm.Provision(ctx, m, vm.ProvisionOptions{Deb: the.deb, FakeLib: lib, GPUs: fakenvml.Islands()}); err != nil {
		t.Fatal(err)
	}
	wire, err := vm.Connect(ctx, the.Machine, m)
	if err != nil {
		t.Fatal(err)
	}
	return m, wire
}

// twoSSHDs allows alice to log in from the first box to
// both boxes, as hosts a and b. The host c has no address.
func twoSSHDs(t *testing.T, other *vm.Machine) {
	t.Helper()
	sh(t, "alice", `install -d -m 700 ~/.ssh; ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519; cp ~/.ssh/id_ed25519.pub ~/.ssh/authorized_keys
		printf 'Host %s\n HostName %s\n' a `+vm.WireAddresses[0]+` b `+vm.WireAddresses[1]+` c 198.51.100.9 >~/.ssh/config`)
	t.Cleanup(func() {
		sh(t, "", "systemctl stop ssh; rm -rf /home/alice/.ssh /home/alice/only-here /home/alice/waited")
	})
	key := sh(t, "alice", "cat ~/.ssh/id_ed25519.pub")
	r := scriptOn(t, other, "", `set -e; hostname other; rm -f /etc/ssh/ssh_host_*; ssh-keygen -A >/dev/null; systemctl start ssh
		install -d -m 700 -o alice -g alice /home/alice/.ssh; echo '`+key+`' >/home/alice/.ssh/authorized_keys
		chown alice: /home/alice/.ssh/authorized_keys; cat /etc/ssh/ssh_host_ed25519_key.pub`, time.Minute)
	if r.Code != 0 {
		t.Fatal(r.Err())
	}
	sh(t, "", "systemctl start ssh; (echo \""+vm.WireAddresses[0]+" $(cat /etc/ssh/ssh_host_ed25519_key.pub)\"; echo '"+vm.WireAddresses[1]+" "+
		strings.TrimSpace(r.Stdout)+"') >/home/alice/.ssh/known_hosts; chown alice: /home/alice/.ssh/known_hosts")
}

// TestTwoBoxes: the commands for several hosts work across two machines, each with its own files,
// accounts, GPUs and scheduler, over a network and sshd.
func TestTwoBoxes(t *testing.T) {
	begin(t)
	other, wire := anotherBox(t)
	twoSSHDs(t, other)
	says := asAlice(t)

	// One view shows both boxes, and also names the host without an address.
	says(5, "gpusched --hosts a,b,c status", "c: ", "a:3 ", "b:7 ")
	var gpus api.GPUsReply
	if err := json.Unmarshal([]byte(says(0, "gpusched --hosts a,b gpus --json")), &gpus); err != nil || len(gpus.GPUs) != 12 {
		t.Errorf("%d GPUs, %v", len(gpus.GPUs), err)
	}

	// A job for b runs on b, in the directory of the same name. Box a can read the job's output.
	one := says(0, "gpusched submit -q --host b -g 1 -t 1h -- sh -c 'hostname; pwd; sleep 1000'")
	if !strings.HasPrefix(one, "b:") {
		t.Fatalf("the job is %q", one)
	}
	poll(t, "its output is there", func() bool { return try(t, "alice", "gpusched logs "+one).Stdout == "other\n/home/alice\n" })
	if here := sh(t, "", "gpusched list -o ids"); here != "" {
		t.Errorf("the first machine has job %s", here)
	}
	says(2, "mkdir ~/only-here && cd ~/only-here && gpusched submit --host b -- true", `b: there is no directory "/home/alice/only-here"`)
	says(0, "gpusched exec "+one+" -- hostname", "other")
	fileOnTwo(t, says)
	says(0, "gpusched export slurm --add b", "NodeName=other ", ":8", ":4", "PartitionName=")

	// --host best chooses the host that would start the job first. 'gpusched why' and 'gpusched
	// list' add the host to a job's name.
	four := says(0, "gpusched submit -q --host a -g 4 -t 1h -- sleep 1000")
	best := says(0, "gpusched --hosts a,b submit -q --host best -g 1 -- true")
	if !strings.HasPrefix(best, "b:") {
		t.Errorf("the best is %q", best)
	}
	says(0, "gpusched wait "+best, "job "+best+" completed")
	waits := says(0, "gpusched submit -q --host a -g 1 -- true")
	says(0, "gpusched --hosts a,b why", "job "+waits+" has waited", "held by job "+four)
	says(0, "gpusched --hosts a,b list", one+" ", four+" ", waits+" ")
	says(0, types("gpusched --hosts a,b top", screenShows("b:7 ", " "+four), `\003`), "b:7 ", "a:3 ", " "+four)
	says(0, "gpusched cancel "+waits+" "+four, "job "+four+" is being ended")

	// A job's terminal on b has its own tty and exit
	// status, and can be detached and attached again.
	says(3, `script -qec "gpusched run --tty --host b -g 1 -- sh -c 'tty; hostname; exit 3'" /dev/null </dev/null`, "/dev/pts/", "other")
	says(0, types("gpusched run --tty --host b -n kept -g 0 -- cat", screenShows("Ctrl-Q leaves it"), `once\n`, screenShows("once.*once"), `\020\021`), "job b:", "gpusched --hosts b attach ")
	kept := says(0, "gpusched --hosts b list --name kept -s running -o ids")
	says(0, types("gpusched attach "+kept, screenShows("once.*once"), `again\n`, screenShows("again.*again"), `\004`), "again\r\nagain")
	says(0, "gpusched wait "+kept, "job "+kept+" completed")

	// While a command waits, the network goes down and comes back. In between, other commands name
	// the host that does not answer.
	until5 := says(0, "gpusched submit -q --host b -g 0 -- sh -c 'until [ -e ~/go ]; do sleep 0.1; done'")
	sh(t, "alice", "gpusched wait "+until5+" >~/waited 2>&1 &")
	poll(t, "the wait runs there", func() bool {
		return scriptOn(t, other, "", "pgrep -u alice -f '^[^ ]*gpusched __document'", time.Minute).Code == 0
	})
	if err := wire.Pull(t.Context()); err != nil {
		t.Fatal(err)
	}
	says(5, "gpusched --hosts a,b list", "b: ")
	if err := wire.Plug(t.Context()); err != nil {
		t.Fatal(err)
	}
	scriptOn(t, other, "alice", "touch ~/go", time.Minute)
	poll(t, "the wait has ended", func() bool { return strings.Contains(sh(t, "alice", "cat ~/waited"), "job "+until5+" completed") })
	says(0, "gpusched cancel "+one, "job "+one+" is being ended")
}

// types returns a shell command that runs the given command on a terminal and prints what the
// terminal shows. The steps are pairs: a shell condition to wait for, and the text to type after
// that, as a format of printf.
func types(command string, steps ...string) string {
	script := ""
	for i := 0; i < len(steps); i += 2 {
		script += "while [ -e ~/screen ] && ! { " + steps[i] + "; }; do sleep 0.05; done; printf '" + steps[i+1] + "'; "
	}
	return ": >~/screen; { " + script + "while [ -e ~/screen ]; do sleep 0.05; done; } | {\n" +
		"timeout 60 script -qefc '" + command + "' ~/screen >/dev/null; code=$?; mv ~/screen ~/shown; exit $code; }\ncode=$?; cat ~/shown; rm ~/shown; exit $code"
}

// screenShows returns a shell condition, which is true when each regular expression matches the
// screen. The lines of the screen are joined.
func screenShows(texts ...string) string {
	for i, text := range texts {
		texts[i] = "tr '\\r\\n' '  ' <~/screen | grep -q '" + text + "'"
	}
	return strings.Join(texts, " && ")
}

// fileOnTwo submits a file of jobs. Each line goes to the host that would start it first, which
// depends on the jobs of earlier lines too. Four GPUs are free here and seven on b, and all eleven
// jobs start at once. One command shows the output of two of them together.
func fileOnTwo(t *testing.T, says func(code int, command string, texts ...string) string) {
	t.Helper()
	ids := strings.Fields(says(0, `for i in 1 2 3 4 5 6 7 8 9 10 11; do echo "-n line$i -- sh -c 'hostname; sleep 1000'"; done >~/lines
		gpusched --hosts a,b submit -q --host best -g 1 -t 1h --file ~/lines; rm ~/lines`))
	here := 0
	for _, id := range ids {
		if strings.HasPrefix(id, "a:") {
			here++
		}
	}
	if len(ids) != 11 || here != 4 {
		t.Fatalf("%d of 11 are here: %q", here, ids)
	}
	if waits := says(0, "gpusched --hosts a,b list -s queued -o ids"); waits != "" {
		t.Errorf("%q wait", waits)
	}
	mine := sh(t, "alice", "hostname")
	poll(t, "both have printed", func() bool {
		r := try(t, "alice", "gpusched logs "+ids[0]+" "+ids[1])
		return r.Stdout == ids[0]+": "+mine+"\n"+ids[1]+": other\n"
	})
	says(0, "(gpusched logs -f "+ids[0]+" "+ids[1]+"; echo ended) >~/both 2>&1 & gpusched cancel "+strings.Join(ids, " ")+
		"; wait; cat ~/both; rm ~/both", ids[0]+": "+mine, ids[1]+": other", "ended")
	says(2, "echo '--after a:1 -- true' | gpusched --hosts a,b submit --host best --file -", "line 1: a job can depend on jobs of its own machine only")
}
