//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/packaging/test/vm"
)

// withCUDA installs the fake libcuda.so.1 and makes the node that CUDA needs. Both exist until the
// test ends.
func withCUDA(t *testing.T) {
	t.Helper()
	const link = "/usr/lib/x86_64-linux-gnu/libcuda.so.1"
	sh(t, "", "mknod -m 666 /dev/nvidia-uvm c 237 0; ln -s "+vm.FakeCUDAPath+" "+link)
	t.Cleanup(func() { sh(t, "", "rm -f /dev/nvidia-uvm "+link) })
	poll(t, "the daemon has seen the library and tested the GPUs", func() bool {
		text, _ := health(t)
		return !strings.Contains(text, "there is no libcuda.so.1") && !strings.Contains(try(t, "", "gpusched gpus").Stdout, "cleaning")
	})
}

// cudaSays sets what CUDA answers on some GPUs; package fakenvml describes the answers.
func cudaSays(t *testing.T, of map[int]string) {
	t.Helper()
	text := ""
	for i := range 4 {
		text += fmt.Sprintf("minor=%d", i)
		if says := of[i]; says != "" {
			text += " cuda=" + says
		}
		text += "\\n"
	}
	sh(t, "", "printf '"+text+"' > /run/fakenvml/new; mv /run/fakenvml/new "+vm.FakeNVMLGPUs)
}

// TestDoctorTestsCUDA: the jobs of 'gpusched doctor --test' compute with CUDA on their GPUs. The
// doctor names the GPU that computes wrongly, and says if there is no CUDA.
func TestDoctorTestsCUDA(t *testing.T) {
	begin(t)
	_, found := runDoctor(t, "alice", "--gpu-ids 0")
	if c := found[0]["sums"]; c.Health != job.Limited || !strings.Contains(c.Detail, "libcuda.so.1") {
		t.Errorf("without the library: %+v", c)
	}
	withCUDA(t)
	_, found = runDoctor(t, "alice", "--gpu-ids 0-1")
	for i, checks := range found {
		if c := checks["sums"]; c.Health != job.Healthy {
			t.Errorf("GPU %d: %+v", i, c)
		}
	}
	cudaSays(t, map[int]string{1: "-1", 2: "999"})
	code, found := runDoctor(t, "alice", "--gpu-ids 0-2")
	if c := found[0]["sums"]; c.Health != job.Healthy {
		t.Errorf("GPU 0: %+v", c)
	}
	if c := found[1]["sums"]; code != 1 || c.Health != job.Failing || !strings.Contains(c.Detail, "wrong sums") {
		t.Errorf("GPU 1: %d, %+v", code, c)
	}
	if c := found[2]["sums"]; c.Health != job.Failing || !strings.Contains(c.Detail, "cuInit: 999 CUDA_ERROR_UNKNOWN") {
		t.Errorf("GPU 2: %+v", c)
	}
}

// gpuShown returns the state of a GPU and the reason for it, as 'gpusched gpus' shows them.
func gpuShown(t *testing.T, index int) string {
	t.Helper()
	for _, g := range ask[api.GPUsReply](t, "", "gpusched gpus --json").GPUs {
		if g.Index == index {
			return string(g.State) + " " + g.StateDetail
		}
	}
	return ""
}

// testAgain makes the daemon test all GPUs.
func testAgain(t *testing.T) {
	t.Helper()
	gpusSeen(t)
	sh(t, "", "gpusched gpu pause 0-3 && gpusched gpu resume 0-3")
}

// probes returns how often GPUs were tested since the given time.
func probes(t *testing.T, start string) int {
	t.Helper()
	awaitJournal(t)
	return strings.Count(sh(t, "", "journalctl -o cat --since @"+start+" -t gpusched-probe"), "\n") + 1
}

// TestGPUsAreTestedAtTheStart: a daemon starts without a record of earlier tests. It tests each GPU
// before the GPU's first job, and only once in a boot. A GPU on which CUDA fails is sick, and
// 'gpusched health' says so.
func TestGPUsAreTestedAtTheStart(t *testing.T) {
	begin(t)
	withCUDA(t)
	cudaSays(t, map[int]string{2: "999"})
	since := sh(t, "", "sleep 2; date +%s") // do not count the daemon's tests since withCUDA
	t.Cleanup(loseState(t))
	poll(t, "GPU 2 is sick", func() bool {
		return strings.HasPrefix(gpuShown(t, 2), "sick CUDA fails on it (cuInit: 999 CUDA_ERROR_UNKNOWN)")
	})
	ids := make([]int64, 3)
	for i, gpu := range []int{0, 1, 3} {
		ids[i] = submit(t, "alice", fmt.Sprintf("--gpu-ids %d -- true", gpu))
	}
	for _, id := range ids {
		mustEnd(t, wait(t, id), "completed", "exit code 0")
	}
	if text, code := health(t); code != 1 || !strings.Contains(text, "CUDA fails on it (cuInit: 999 CUDA_ERROR_UNKNOWN)") {
		t.Errorf("health: %d %s", code, text)
	}
	waits := submit(t, "alice", "--gpu-ids 2 -- true")
	if why := sh(t, "alice", fmt.Sprintf("gpusched why %d", waits)); !strings.Contains(why, "cuInit: 999 CUDA_ERROR_UNKNOWN") {
		t.Errorf("why: %s", why)
	}
	if n := probes(t, since); n != 4 {
		t.Errorf("GPUs were tested %d times", n)
	}
	sh(t, "", "systemctl restart gpusched")
	mustEnd(t, wait(t, submit(t, "alice", "--gpu-ids 0 -- true")), "completed", "exit code 0")
	if n := probes(t, since); n != 4 {
		t.Errorf("after a restart GPUs had been tested %d times", n)
	}
	// If an administrator says that the GPU is well, the daemon tests it again.
	sh(t, "", "gpusched gpu undrain 2")
	poll(t, "GPU 2 was tested again", func() bool { return probes(t, since) == 5 })
	poll(t, "GPU 2 is sick again", func() bool { return strings.HasPrefix(gpuShown(t, 2), "sick CUDA fails on it") })
	cudaSays(t, nil)
	sh(t, "", "gpusched gpu undrain 2")
	mustEnd(t, wait(t, waits), "completed", "exit code 0")
}

// TestWrongSumsFailNoJob: while 60 jobs wait, a GPU begins to compute wrongly. Jobs that fail on
// this GPU are queued again, and no further job is placed on it, so all jobs complete.
func TestWrongSumsFailNoJob(t *testing.T) {
	begin(t)
	withCUDA(t)
	sh(t, "", `printf '[Service]\nType=oneshot\nExecStart=/bin/sh -c "echo %%i >> /run/alerts"\n' > /etc/systemd/system/site-alert@.service; rm -f /run/alerts; systemctl daemon-reload`)
	t.Cleanup(func() {
		sh(t, "", "rm -f /etc/systemd/system/site-alert@.service /run/alerts; systemctl daemon-reload")
	})
	settings(t, "[gpus]\nalert_unit = \"site-alert@.service\"")
	testAgain(t)
	const computes = "-- sh -c '/usr/libexec/gpusched/gpusched-nvml --cuda && sleep 0.3'"
	ids := []int64{submit(t, "alice", "-g 1 --array 0-29 "+computes), submit(t, "bob", "-g 1 --array 0-29 "+computes)}
	count := func(words string) (n int) {
		for _, id := range ids {
			n += strings.Count(sh(t, "", fmt.Sprintf("gpusched list %d -o csv=state --ended 200", id)), words)
		}
		return n
	}
	poll(t, "10 tasks have completed", func() bool { return count("completed") >= 10 })
	cudaSays(t, map[int]string{1: "-1"})
	for _, id := range ids {
		wait(t, id)
	}
	if n := count("completed"); n < 60 {
		t.Errorf("%d of 60 tasks have completed", n)
	}
	if shown := gpuShown(t, 1); !strings.HasPrefix(shown, "sick CUDA fails on it (wrong sums: ") {
		t.Errorf("GPU 1 is %s", shown)
	}
	awaitJournal(t)
	failed := strings.Count(sh(t, "", "journalctl -o cat -u 'gpujob-*' --since -5min"), "wrong sums: ")
	t.Logf("%d attempts failed", failed)
	if failed < 1 || failed > 3 {
		t.Errorf("%d attempts failed on the GPU", failed)
	}
	poll(t, "the alert was raised", func() bool { return sh(t, "", "cat /run/alerts || true") != "" })
	if alerts := sh(t, "", "cat /run/alerts"); alerts != "1" {
		t.Errorf("alerts: %q", alerts)
	}
}

// TestCUDAHangs: if two tests of a GPU do not end, the daemon blames the GPU and takes it out of
// service, even if the daemon was killed meanwhile. Other GPUs take jobs.
func TestCUDAHangs(t *testing.T) {
	begin(t)
	withCUDA(t)
	cudaSays(t, map[int]string{3: "-2"})
	testAgain(t)
	poll(t, "the test runs", func() bool { return try(t, "", "pgrep -f [g]pusched-nvml.--cuda").Code == 0 })
	if shown := gpuShown(t, 3); !strings.HasPrefix(shown, "cleaning it is tested with CUDA") {
		t.Errorf("GPU 3 is %s", shown)
	}
	mustEnd(t, wait(t, submit(t, "alice", "--gpu-ids 0 -- true")), "completed", "exit code 0")
	waits := submit(t, "alice", "--gpu-ids 3 -- true")
	if why := sh(t, "alice", fmt.Sprintf("gpusched why %d", waits)); !strings.Contains(why, "being checked (it is tested with CUDA before its next job)") {
		t.Errorf("why: %s", why)
	}
	const invocation = "systemctl show -P InvocationID gpusched-test-3"
	first := sh(t, "", invocation)
	sh(t, "", "systemctl kill -s KILL --kill-whom=main gpusched.service")
	poll(t, "the second test runs", func() bool {
		now := try(t, "", invocation).Stdout
		return strings.TrimSpace(now) != "" && !strings.HasPrefix(now, first)
	})
	tested := "sick CUDA fails on it (no answer within 20s)"
	poll(t, "GPU 3 is sick", func() bool { return strings.HasPrefix(gpuShown(t, 3), tested) })
	if r := try(t, "", "pgrep -f [g]pusched-nvml.--cuda; systemctl --all --no-legend list-units 'gpusched-test-*'"); strings.TrimSpace(r.Stdout) != "" {
		t.Errorf("left: %s", r.Stdout)
	}
	cudaSays(t, nil)
	sh(t, "", "gpusched gpu undrain 3")
	mustEnd(t, wait(t, waits), "completed", "exit code 0")
}

// TestSiteChecksGPUs: after a good test, the site's own check decides whether the GPU is well. If a
// setting or a missing library prevents the tests, health says so.
func TestSiteChecksGPUs(t *testing.T) {
	begin(t)
	if text, _ := health(t); !strings.Contains(text, "used without a test with CUDA: there is no libcuda.so.1") {
		testAgain(t)
		poll(t, "health says that nothing is tested", func() bool {
			text, _ = health(t)
			return strings.Contains(text, "used without a test with CUDA: there is no libcuda.so.1")
		})
	}
	withCUDA(t)
	sh(t, "", `printf '[Service]\nType=oneshot\nExecStart=/bin/sh -c "echo %%i >> /run/checked; [ %%i != 2 ]"\n' > /etc/systemd/system/site-check@.service; rm -f /run/checked; systemctl daemon-reload`)
	t.Cleanup(func() {
		sh(t, "", "systemctl reset-failed 'site-check@*' 2>/dev/null; rm -f /etc/systemd/system/site-check@.service /run/checked; systemctl daemon-reload")
	})
	settings(t, "[gpus]\ncheck_unit = \"site-check@.service\"")
	testAgain(t)
	poll(t, "GPU 2 is sick", func() bool {
		return strings.HasPrefix(gpuShown(t, 2), "sick the site's check site-check@2.service failed")
	})
	mustEnd(t, wait(t, submit(t, "alice", "--gpu-ids 1 -- true")), "completed", "exit code 0")
	poll(t, "all GPUs were checked", func() bool { return sh(t, "", "sort -u /run/checked | tr -d '\\n'") == "0123" })
	settings(t, "[gpus]\ncuda_test = false")
	if text, _ := health(t); !strings.Contains(text, "GPUs are not tested with CUDA (gpus.cuda_test)") {
		t.Errorf("health: %s", text)
	}
	cudaSays(t, map[int]string{1: "999"})
	testAgain(t)
	mustEnd(t, wait(t, submit(t, "alice", "--gpu-ids 1 -- true")), "completed", "exit code 0")
}
