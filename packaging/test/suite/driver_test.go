//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// TestReaderDies: jobs are still placed while the NVML process is killed again and again.
func TestReaderDies(t *testing.T) {
	begin(t)
	on := submit(t, "alice", "-g 1 -- sleep 1000")
	waitRun(t, on)
	sh(t, "", "systemd-run --quiet --unit killer bash -c 'while :; do pkill -KILL "+strings.ReplaceAll(reader, "'", `"`)+"; sleep 0.2; done'")
	t.Cleanup(func() { try(t, "", "systemctl stop killer") })
	for range 5 {
		next := submit(t, "alice", "-g 1 --gpu-mem 1G -- true")
		mustEnd(t, wait(t, next), "completed", "exit code 0")
	}
	if j := show(t, "", on); j.State != "running" {
		t.Errorf("the job is %s", j.State)
	}
	sh(t, "", "systemctl stop killer")
	poll(t, "all GPUs answer", func() bool { text, _ := health(t); return strings.Contains(text, "4 of 4 GPUs answer") })
}

// TestReaderHangs: while the driver does not answer, no job is placed on a GPU, jobs without GPUs
// run, and health says so. Afterwards placements resume by themselves.
func TestReaderHangs(t *testing.T) {
	begin(t)
	sh(t, "", "mkdir -p /etc/gpusched/conf.d; printf '[gpus]\\nsample_interval = \"1s\"\\nsample_timeout = \"2s\"\\n' > /etc/gpusched/conf.d/test.toml; systemctl restart gpusched")
	t.Cleanup(func() { sh(t, "", "rm /etc/gpusched/conf.d/test.toml; systemctl restart gpusched") })
	on := submit(t, "alice", "-g 1 -- sleep 1000")
	waitRun(t, on)
	// The NVML process hangs, and so does each process that replaces it. The commands in answers
	// end this.
	const answers = "rm -f /run/fakenvml/init; pkill -CONT -f '^/usr/libexec/gpusched/gpusched-nvml'; true"
	sh(t, "", "echo hang > /run/fakenvml/init; pkill -STOP -f '^/usr/libexec/gpusched/gpusched-nvml'")
	t.Cleanup(func() { try(t, "", answers) })
	poll(t, "health says so", func() bool { return !strings.Contains(sh(t, "", "gpusched health || true"), "GPUs answer") })
	id := submit(t, "alice", "-g 1 -- true")
	if why := sh(t, "alice", fmt.Sprintf("gpusched why %d", id)); !strings.Contains(why, "unknown") {
		t.Errorf("why: %s", why)
	}
	cpu := submit(t, "bob", "-g 0 -- true")
	mustEnd(t, wait(t, cpu), "completed", "exit code 0")
	if j := show(t, "", id); j.State != "queued" {
		t.Errorf("a job is %s while the GPUs are unknown", j.State)
	}
	if j := show(t, "", on); j.State != "running" {
		t.Errorf("the running job is %s", j.State)
	}
	sh(t, "", answers)
	mustEnd(t, wait(t, id), "completed", "exit code 0")
}

// TestLostGPU: when one GPU is lost, the other GPUs still work. The lost GPU can come back.
func TestLostGPU(t *testing.T) {
	begin(t)
	lines := func(lost string) string {
		text := ""
		for i := range 4 {
			text += fmt.Sprintf("uuid=GPU-fa4e0000-0000-4000-8000-%012d name=NVIDIA_A100-SXM4-80GB minor=%d mem_mib=81920", i, i)
			if fmt.Sprint(i) == lost {
				text += " lost=1"
			}
			text += "\n"
		}
		return "printf '" + strings.ReplaceAll(text, "\n", "\\n") + "' > /run/fakenvml/gpus"
	}
	sh(t, "", lines("2"))
	sh(t, "", "systemctl restart gpusched")
	poll(t, "gpus says that it is lost", func() bool { return strings.Contains(sh(t, "", "gpusched gpus"), "lost") })
	id := submit(t, "alice", "--gpus-from 2 -- true")
	if why := sh(t, "alice", fmt.Sprintf("gpusched why %d", id)); !strings.Contains(why, "lost") {
		t.Errorf("why: %s", why)
	}
	other := submit(t, "alice", "--gpus-from 1 -- true")
	mustEnd(t, wait(t, other), "completed", "exit code 0")
	sh(t, "", lines(""))
	mustEnd(t, wait(t, id), "completed", "exit code 0")
}

// TestNoLibrary: a machine without the driver runs jobs without GPUs, and refuses GPU jobs with the
// reason. The daemon notices when somebody installs the library.
func TestNoLibrary(t *testing.T) {
	begin(t)
	lib := "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"
	sh(t, "", "mv "+lib+" "+lib+".away; systemctl restart gpusched")
	t.Cleanup(func() { try(t, "", "[ -e "+lib+" ] || mv "+lib+".away "+lib+"; systemctl restart gpusched") })
	poll(t, "health says so", func() bool { return strings.Contains(sh(t, "", "gpusched health || true"), "libnvidia-ml") })
	r := try(t, "alice", "gpusched submit -g 1 -- true")
	if r.Code != 6 || !strings.Contains(r.Stderr, "libnvidia-ml") {
		t.Errorf("a GPU job without a library: exit %d: %s", r.Code, r.Stderr)
	}
	cpu := submit(t, "alice", "-g 0 -- true")
	mustEnd(t, wait(t, cpu), "completed", "exit code 0")
	sh(t, "", "mv "+lib+".away "+lib)
	poll(t, "the GPUs are found", func() bool { return strings.Contains(sh(t, "", "gpusched gpus"), "A100") })
	id := submit(t, "alice", "-g 1 -- true")
	mustEnd(t, wait(t, id), "completed", "exit code 0")
}

// TestDriverIsUpgraded: while 100 jobs wait, the link to the driver's library changes, as it does
// in an unattended upgrade. Only jobs that run at that moment may fail. The others wait, with the
// reason shown, and the alert unit starts once. When the versions agree again, all waiting jobs
// complete.
func TestDriverIsUpgraded(t *testing.T) {
	begin(t)
	const dir = "/usr/lib/x86_64-linux-gnu/"
	link := func(version string) { sh(t, "", "ln -sfn libcuda.so."+version+" "+dir+"libcuda.so.1") }
	loaded := strings.TrimSpace(sh(t, "", "gpusched gpus --json | sed -n 's/.*\"driver\": *\"\\([^\"]*\\)\".*/\\1/p'"))
	sh(t, "", fmt.Sprintf("touch %slibcuda.so.%s %slibcuda.so.999.10.1", dir, loaded, dir))
	link(loaded)
	t.Cleanup(func() { sh(t, "", "rm -f "+dir+"libcuda.so*") })
	sh(t, "", `printf '[Service]\nType=oneshot\nExecStart=/bin/sh -c "echo %%i >> /run/alerts"\n' > /etc/systemd/system/site-alert@.service; rm -f /run/alerts; systemctl daemon-reload`)
	t.Cleanup(func() {
		sh(t, "", "rm -f /etc/systemd/system/site-alert@.service /run/alerts; systemctl daemon-reload")
	})
	settings(t, quickSampling+"\nalert_unit = \"site-alert@.service\"")

	id := submit(t, "alice", "-g 1 --array 0-99 -- sh -c 'sleep 0.1; readlink "+dir+"libcuda.so.1 | grep -q "+loaded+"'")
	done := func(state string) int {
		return strings.Count(sh(t, "", fmt.Sprintf("gpusched list %d -o csv=state --ended 200", id)), state)
	}
	poll(t, "10 tasks have completed", func() bool { return done("completed") >= 10 })
	link("999.10.1")
	poll(t, "health fails", func() bool { _, code := health(t); return code == 1 })
	if text, _ := health(t); !strings.Contains(text, "the driver was upgraded to 999.10.1 while "+loaded+" is loaded") {
		t.Errorf("health: %s", text)
	}
	if why := sh(t, "alice", fmt.Sprintf("gpusched why %d", id)); !strings.Contains(why, "the driver was upgraded to 999.10.1") {
		t.Errorf("why: %s", why)
	}
	poll(t, "no task runs", func() bool { return done("running")+done("starting")+done("ending") == 0 })
	before := done("completed") + done("failed")
	cpu := submit(t, "bob", "-g 0 -- true")
	mustEnd(t, wait(t, cpu), "completed", "exit code 0")
	if after := done("completed") + done("failed"); after != before {
		t.Errorf("%d tasks have started meanwhile", after-before)
	}
	if failed := done("failed"); failed > 4 {
		t.Errorf("%d tasks failed, where 4 could run", failed)
	}
	poll(t, "there is one alert", func() bool { return strings.TrimSpace(try(t, "", "cat /run/alerts").Stdout) == "driver" })

	link(loaded)
	failed := done("failed")
	wait(t, id)
	if n := done("completed"); n != 100-failed {
		t.Errorf("%d tasks completed and %d failed", n, failed)
	}
	if _, code := health(t); code == 1 {
		t.Error("health still fails")
	}
	if alerts := strings.Fields(sh(t, "", "cat /run/alerts")); len(alerts) != 1 {
		t.Errorf("alerts: %q", alerts)
	}

	settings(t, quickSampling+"\ndriver_check = false")
	link("999.10.1")
	mustEnd(t, wait(t, submit(t, "alice", "-g 1 -- true")), "completed", "exit code 0")
}
