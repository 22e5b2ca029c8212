//go:build machine

package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
	"github.com/gpusched/gpusched/packaging/test/vm"
)

// A slurmBox is a machine on which gpusched and a real Slurm with two nodes run together. It is a
// separate box, or the machine of the run if hasSlurm returns true.
type slurmBox struct{ *vm.Machine }

// theSlurm is the slurmBox that the tests of a run share. The first test that needs the box boots
// it.
var theSlurm struct {
	sync.Once
	*vm.Machine
	err error
}

// closeSlurm closes theSlurm. Closing a machine twice does nothing.
func closeSlurm() {
	if theSlurm.Machine != nil {
		theSlurm.Close()
	}
}

// bootSlurm boots a box with Slurm's packages. None of their
// services runs yet. The image of the box is built only once.
func bootSlurm(ctx context.Context) (*vm.Machine, error) {
	m, err := boot(ctx, vm.Box, the.deb, vm.SlurmPackages())
	if err != nil {
		return nil, err
	}
	if err := prepareSlurm(ctx, m); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// prepareSlurm installs slurm.sh in a machine that has Slurm's packages. With -slurm it replaces
// these packages by another release of Slurm.
func prepareSlurm(ctx context.Context, m *vm.Machine) error {
	err := m.CopyIn(ctx, "../slurm/slurm.sh", "/usr/local/bin/slurm.sh", 0o755)
	if err == nil && *slurm != "" {
		err = otherSlurm(ctx, m, *slurm)
	}
	return err
}

// otherSlurm replaces the Slurm packages of the image with
// the packages in a directory. None of their services starts.
func otherSlurm(ctx context.Context, m *vm.Machine, dir string) error {
	debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(debs) == 0 {
		return fmt.Errorf("no packages in %s: %w", dir, err)
	}
	for _, deb := range debs {
		if err := m.CopyIn(ctx, deb, "/var/cache/other/"+filepath.Base(deb), 0o644); err != nil {
			return err
		}
	}
	r, err := m.Sh(ctx, "", `printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d && chmod +x /usr/sbin/policy-rc.d
		DEBIAN_FRONTEND=noninteractive dpkg --force-all -i /var/cache/other/*.deb && rm /usr/sbin/policy-rc.d && slurmctld -V`)
	if err == nil && r.Code != 0 {
		err = fmt.Errorf("packages of %s: exit %d\n%s%s", dir, r.Code, r.Stdout, r.Stderr)
	}
	fmt.Fprintf(os.Stderr, "Slurm of %s: %s", dir, await.Tail(r.Stdout, 1))
	return err
}

// beginSlurm starts Slurm with accounting and without jobs for one test. When the test ends, it
// ends the test's jobs, and prints the logs if the test failed.
func beginSlurm(t *testing.T) slurmBox {
	t.Helper()
	theSlurm.Do(func() {
		ctx := context.WithoutCancel(t.Context())
		if hasSlurm(vm.Box) {
			theSlurm.Machine, theSlurm.err = the.Machine, prepareSlurm(ctx, the.Machine)
			return
		}
		theSlurm.Machine, theSlurm.err = bootSlurm(ctx)
	})
	if theSlurm.err != nil {
		t.Fatal(theSlurm.err)
	}
	b := slurmBox{theSlurm.Machine}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(b.try(t, "", "tail -n 25 /var/log/slurm/*.log; journalctl --no-pager -u gpusched | tail -50").Stdout)
		}
		b.sh(t, "", `slurm.sh remove
gpusched daemon resume >/dev/null 2>&1; ids=$(gpusched list -o ids); [ -z "$ids" ] || gpusched cancel $ids >/dev/null`)
	})
	b.restartSlurm(t, "accounting")
	return b
}

// restartSlurm restarts Slurm. It waits for the database, for slurmdbd and for the nodes, up to a
// minute for each. The argument words contains options of 'slurm.sh up'.
func (b slurmBox) restartSlurm(t *testing.T, words string) {
	t.Helper()
	const script = "slurm.sh down; slurm.sh up "
	if r := b.tryFor(t, "", script+words, 5*time.Minute); r.Code != 0 {
		t.Fatalf("%s%s: exit %d\n%s%s", script, words, r.Code, r.Stdout, r.Stderr)
	}
}

func (b slurmBox) try(t *testing.T, user, script string) vm.Result {
	t.Helper()
	return b.tryFor(t, user, script, 2*time.Minute)
}

// tryFor is like try, with a time limit.
func (b slurmBox) tryFor(t *testing.T, user, script string, limit time.Duration) vm.Result {
	t.Helper()
	return scriptOn(t, b.Machine, user, script, limit)
}

func (b slurmBox) sh(t *testing.T, user, script string) string {
	t.Helper()
	r := b.try(t, user, script)
	if r.Code != 0 {
		t.Fatalf("%s: exit %d from %q\n%s%s", who(user), r.Code, script, r.Stdout, r.Stderr)
	}
	return strings.TrimRight(r.Stdout, "\n")
}

// A walker types commands as alice on one of the engines. The functions named walk… type the same
// commands on both engines.
type walker struct {
	*testing.T
	box    slurmBox
	engine string
}

// gs runs a gpusched command, which must exit with the given status, and returns its output.
func (w walker) gs(status int, args string) string {
	w.Helper()
	return strings.TrimRight(w.run(status, args).Stdout, "\n")
}

func (w walker) run(status int, args string) vm.Result {
	w.Helper()
	r := w.box.try(w.T, "alice", "gpusched --on "+w.engine+" "+args)
	if r.Code != status {
		w.Errorf("gpusched --on %s %s: exit %d, not %d\n%s%s", w.engine, args, r.Code, status, r.Stdout, r.Stderr)
	}
	return r
}

// submit submits a job and returns its number.
func (w walker) submit(args string) string {
	w.Helper()
	name := w.gs(0, "submit -q "+args)
	number := strings.TrimPrefix(name, "slurm:")
	if name != w.name(number) {
		w.Errorf("gpusched --on %s submit -q %s: %s", w.engine, args, name)
	}
	return number
}

// name returns the name that gpusched prints for the job with the given number.
func (w walker) name(number string) string {
	if w.engine == "slurm" {
		return "slurm:" + number
	}
	return number
}

// checkOutput checks that a command's output contains the given words.
func (w walker) checkOutput(args string, words ...string) {
	w.Helper()
	r := w.run(0, args)
	text := r.Stdout + r.Stderr
	for _, want := range words {
		if !strings.Contains(text, want) {
			w.Errorf("gpusched --on %s %s: no %q in\n%s", w.engine, args, want, text)
		}
	}
}

// awaitState waits until a job is in one of several states.
func (w walker) awaitState(id string, states ...string) {
	w.Helper()
	poll(w.T, "job "+id+" is "+strings.Join(states, " or "), func() bool { return slices.Contains(states, w.state(id)) })
}

func (w walker) state(id string) string {
	w.Helper()
	return w.job(id).State
}

// job returns what 'gpusched show' prints about one job.
func (w walker) job(id string) shownJob {
	w.Helper()
	var reply struct{ Job shownJob }
	w.decode(0, "show --json "+id, &reply)
	return reply.Job
}

type shownJob struct {
	ID       int64
	State    string
	Attempt  int
	Requeues int
}

// decode parses a command's JSON answer.
func (w walker) decode(status int, args string, reply any) {
	w.Helper()
	if text := w.gs(status, args); json.Unmarshal([]byte(text), reply) != nil {
		w.Fatalf("gpusched --on %s %s: %s", w.engine, args, text)
	}
}

// row checks that a table has a line with the given words as columns.
func (w walker) row(args string, words ...string) {
	w.Helper()
	text := w.gs(0, args)
	for line := range strings.Lines(text) {
		columns := strings.Fields(line)
		if !slices.ContainsFunc(words, func(word string) bool { return !slices.Contains(columns, word) }) {
			return
		}
	}
	w.Errorf("gpusched --on %s %s: no line with %q in\n%s", w.engine, args, words, text)
}

// checkPrinted checks that a job has printed the given lines.
func (w walker) checkPrinted(id string, lines ...string) {
	w.Helper()
	text := w.gs(0, "logs "+id)
	for _, line := range lines {
		if !slices.Contains(strings.Split(text, "\n"), line) {
			w.Errorf("job %s of %s: no line %q in\n%s", id, w.engine, line, text)
		}
	}
}

// TestSlurmEngine: with Slurm, the same commands have
// the same effects as with the machine's scheduler.
func TestSlurmEngine(t *testing.T) {
	box := beginSlurm(t)
	engines := []string{"local", "slurm"}
	if *quick {
		engines = engines[1:]
	}
	for _, engine := range engines {
		for _, part := range []struct {
			name string
			walk func(walker)
		}{
			{"submit", walkSubmit}, {"environment", walkEnvironment}, {"hold", walkHold}, {"run", walkRun}, {"order", walkOrder},
			{"array", walkArray}, {"file", walkFile}, {"lines", walkLines}, {"follow", walkFollow}, {"look", walkLook}, {"retries", walkRetries},
		} {
			t.Run(engine+"/"+part.name, func(t *testing.T) { part.walk(walker{t, box, engine}) })
		}
	}
	t.Run("both", func(t *testing.T) { walkBoth(t, box) })
	t.Run("conformance", func(t *testing.T) { conformReally(t, box) })
	t.Run("terminal", func(t *testing.T) { walkTerminal(walker{t, box, "slurm"}) })
	if !*quick { // this part waits for a time limit
		t.Run("set up", func(t *testing.T) { walkSetUp(walker{t, box, "slurm"}) })
	}
	t.Run("nodes", func(t *testing.T) { walkNodes(walker{t, box, "slurm"}) })
	t.Run("refused", func(t *testing.T) { walkRefused(walker{t, box, "slurm"}) })
	t.Run("accounts", func(t *testing.T) { walkAccounts(walker{t, box, "slurm"}) })
	t.Run("kept", func(t *testing.T) { walkKept(walker{t, box, "slurm"}) })
	box.restartSlurm(t, "") // restarts Slurm without accounting
	t.Run("plain", func(t *testing.T) { walkSubmit(walker{t, box, "slurm"}) })
	box.sh(t, "", "slurm.sh down")
	w := walker{t, box, "slurm"}
	w.gs(5, "list")
	t.Run("defaults", func(t *testing.T) { walkDefaults(t, box) })
	t.Run("mps", func(t *testing.T) { walkMPS(t, box) })
}

// walkSubmit checks that arguments arrive byte for byte, that a job's output can be read, and that
// the caller exits with the job's status.
func walkSubmit(w walker) {
	id := w.submit(`-g 0 -n hello --comment "two words" --tag project=vision -- printf '%s\n' 'a  b' '$x' "it's" '*'`)
	w.gs(0, "wait "+id)
	if got := w.gs(0, "logs "+id); got != "a  b\n$x\nit's\n*" {
		w.Errorf("its log: %q", got)
	}
	w.checkOutput("show "+id, "job "+w.name(id)+" hello", "completed", "two words", "project=vision", "/home/alice")
	id = w.submit("-g 0 -- sh -c 'exit 3'")
	w.gs(3, "wait "+id)
	w.checkOutput("show "+id, "failed", "exit code 3")
	w.gs(3, "show 99999")
	w.gs(3, "cancel 99999")
	w.gs(2, "submit --frobnicate")
}

// walkEnvironment checks the environment variables that describe a job.
func walkEnvironment(w walker) {
	id := w.submit(`-g 1 -e "A=x,y 'z'" --setup 'export B=set; cd /tmp' -- sh -c 'env; pwd'`)
	w.gs(0, "wait "+id)
	w.checkPrinted(id, "GPUSCHED_JOB_ID="+id, "GPUSCHED_ATTEMPT=1", "GPUSCHED_GPU_SHARE=1", "GPUSCHED_GPU_IDS=0", "CUDA_VISIBLE_DEVICES=0",
		"CUDA_DEVICE_ORDER=PCI_BUS_ID", "A=x,y 'z'", "B=set", "PWD=/tmp", "HOME=/home/alice", "/tmp")
	w.checkOutput("logs "+id, "\nMASTER_PORT=2")
	id = w.submit("-g 0.5 --env clean -- env")
	w.gs(0, "wait "+id)
	w.checkPrinted(id, "GPUSCHED_GPU_SHARE=0.5", "LANG=C.UTF-8", "CUDA_VISIBLE_DEVICES=0")
	id = w.submit("-g 0 --env login -- env")
	w.gs(0, "wait "+id)
	w.checkPrinted(id, "CUDA_VISIBLE_DEVICES=", "NVIDIA_VISIBLE_DEVICES=void", "SHELL=/bin/bash")
	id = w.submit("-g 0 --log out-%j.txt -- echo written")
	w.gs(0, "wait "+id)
	if got := w.box.sh(w.T, "alice", "cat out-"+id+".txt && rm out-"+id+".txt"); got != "written" {
		w.Errorf("its file has %q", got)
	}
}

// walkHold checks that a held job can be changed and released.
func walkHold(w walker) {
	id := w.submit("-g 1 -t 1h --hold -- true")
	w.row("list", w.name(id), "queued")
	w.checkOutput("why "+id, "held")
	w.gs(0, "update "+id+" --time 30m --name new --comment changed")
	w.checkOutput("show "+id, "job "+w.name(id)+" new", "30m", "changed")
	w.gs(0, "release "+id)
	w.gs(0, "wait "+id)
	id = w.submit("-g 0 -- true")
	w.gs(0, "wait "+id)
	id = w.submit("-g 0 --begin +1h -- true")
	w.checkOutput("why "+id, "begin")
	w.gs(0, "hold "+id)
	w.checkOutput("show "+id, "held")
	w.gs(0, "cancel "+id)
}

// walkRun checks that a running job is shown, requeued and cancelled, and that 'gpusched run' waits
// for its job.
func walkRun(w walker) {
	id := w.submit("-g 2 -t 10m -- sleep 300")
	w.awaitState(id, "running")
	w.row("list", w.name(id), "running", "alice")
	w.row("gpus", "busy", w.name(id))
	w.checkOutput("status", "1 running")
	w.gs(0, "requeue "+id)
	poll(w.T, "job "+id+" is queued again", func() bool { j := w.job(id); return j.Requeues == 1 && j.State != "cancelled" })
	w.gs(0, "cancel "+id)
	if code := w.box.try(w.T, "alice", "gpusched --on "+w.engine+" wait "+id).Code; code == 0 {
		w.Error("a cancelled job has ended well")
	}
	w.checkOutput("show "+id, "cancelled")
	if text := w.gs(0, "run -g 0 -- sh -c 'echo $((6 * 7))'"); text != "42" {
		w.Errorf("gpusched --on %s run: %q", w.engine, text)
	}
	w.gs(4, "run -g 0 -- sh -c 'exit 4'")
}

// walkOrder checks that a job waits for another job, and that it ends if it can never start.
func walkOrder(w walker) {
	sh := func(script string) { w.box.try(w.T, "alice", script) }
	sh("rm -f ~/order")
	first := w.submit("-g 0 -- sh -c 'until [ -e ~/order ]; do sleep 0.1; done; exit 5'")
	any := w.submit("-g 0 --after-any " + first + " -- true")
	ok := w.submit("-g 0 --after-ok " + first + " -- true")
	fail := w.submit("-g 0 --after-fail " + first + " -- true")
	w.checkOutput("show "+ok, first)
	sh("touch ~/order")
	w.gs(0, "wait "+any)
	w.gs(0, "wait "+fail)
	w.awaitState(ok, "cancelled", "failed")
}

// walkArray checks that each task knows its own number, and that an id with that number names the
// task.
func walkArray(w walker) {
	id := w.submit("-g 0 --array 0-2%2 -- sh -c 'echo task $GPUSCHED_ARRAY_TASK of $GPUSCHED_ARRAY_JOB'")
	w.gs(0, "wait "+id)
	w.checkPrinted(id+"_1", "task 1 of "+id)
	id = w.submit("-g 0 --param lr=1e-3,1e-4 -- echo rate={lr}")
	w.gs(0, "wait "+id)
	w.checkPrinted(id+"_0", "rate=1e-3")
	w.checkPrinted(id+"_1", "rate=1e-4")
}

// walkLook checks that gpusched answers queries, also in JSON.
func walkLook(w walker) {
	ended := w.submit("-g 0 -n looked-for -- true")
	w.gs(0, "wait "+ended)
	waits := w.submit("-g 0 --hold -- true")
	has := func(command, id string) bool {
		var reply struct{ Jobs []shownJob }
		w.decode(0, command+" --json", &reply)
		return slices.ContainsFunc(reply.Jobs, func(j shownJob) bool { return strconv.FormatInt(j.ID, 10) == id })
	}
	for _, x := range []struct {
		command, id string
		want        bool
	}{{"list", waits, true}, {"list", ended, false}, {"list -a", ended, true}, {"history", ended, true}, {"history", waits, false}} {
		if has(x.command, x.id) != x.want {
			w.Errorf("%s --json: that it has job %s is not %v", x.command, x.id, x.want)
		}
	}
	w.gs(0, "cancel "+waits)
	for _, command := range []string{"gpus", "status"} {
		var reply struct{ GPUs []struct{ UUID string } }
		w.decode(0, command+" --json", &reply)
		if len(reply.GPUs) != 4 {
			w.Errorf("%s --json: %d GPUs", command, len(reply.GPUs))
		}
	}
	w.checkOutput("version", "gpusched")
	var health struct {
		Health string
		Checks []struct{ Name, Health, Detail string }
	}
	w.decode(9, "health --json", &health)
	cause := map[string]string{"local": "limits are not enforced", "slurm": "n3"}[w.engine] // a box has no controllers, and node n3 is broken
	told := false
	for _, check := range health.Checks {
		told = told || check.Health == "DEGRADED" && strings.Contains(check.Detail, cause)
	}
	if health.Health != "DEGRADED" || !told {
		w.Errorf("health: %+v", health)
	}
}

// walkRetries checks that a failed job is retried.
func walkRetries(w walker) {
	id := w.submit(`-g 0 --retries 2 --backoff 1s -- sh -c 'echo attempt $GPUSCHED_ATTEMPT; [ $GPUSCHED_ATTEMPT = 2 ]'`)
	w.gs(0, "wait "+id)
	w.awaitState(id, "completed")
	w.checkPrinted(id, "attempt 2")
}
