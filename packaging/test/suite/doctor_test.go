//go:build machine

package suite

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// runDoctor runs 'gpusched doctor --test'. It returns the exit status, and the checks by GPU and
// name.
func runDoctor(t *testing.T, user, options string) (code int, health map[int]map[string]job.Check) {
	t.Helper()
	r := try(t, user, "gpusched doctor --test --json "+options)
	var reply struct {
		GPUs []struct {
			Index  int         `json:"index"`
			Checks []job.Check `json:"checks"`
		} `json:"gpus"`
	}
	if err := json.Unmarshal([]byte(r.Stdout), &reply); err != nil {
		t.Fatalf("%v: %s%s", err, r.Stdout, r.Stderr)
	}
	health = map[int]map[string]job.Check{}
	for _, g := range reply.GPUs {
		health[g.Index] = map[string]job.Check{}
		for _, c := range g.Checks {
			health[g.Index][c.Name] = c
		}
	}
	return r.Code, health
}

// TestDoctorTestsGPUs: 'gpusched doctor --test' runs a job on each GPU from submission to end. Each
// job finds its own GPU and leaves nothing behind. The doctor names each fault that it finds.
func TestDoctorTestsGPUs(t *testing.T) {
	begin(t)
	code, found := runDoctor(t, "alice", "")
	if len(found) != 4 {
		t.Fatalf("%d GPUs are tested", len(found))
	}
	want := 0
	for index, checks := range found {
		for _, name := range []string{"start", "journal", "filter", "cuda", "nvml", "memory"} {
			c, made := checks[name]
			if name == "memory" && strings.Contains(c.Detail, "no memory controller") && c.Health == job.Degraded {
				want = 9
			} else if !made || c.Health != job.Healthy {
				t.Errorf("GPU %d: %s: %+v", index, name, c)
			}
		}
	}
	if code != want {
		t.Errorf("exit status %d, want %d", code, want)
	}

	// If a GPU is busy, the doctor says what its test job waits for, and cancels that job.
	busy := submit(t, "bob", "--gpu-ids 1 -- sleep 60")
	poll(t, "job runs", func() bool { return show(t, "bob", busy).State == "running" })
	code, found = runDoctor(t, "alice", "--gpu-ids 1 --timeout 1s")
	if start := found[1]["start"]; code != 9 || !strings.Contains(start.Detail, fmt.Sprintf("still waited: GPU 1 is held by job %d", busy)) {
		t.Errorf("busy: %d, %+v", code, start)
	}
	poll(t, "nothing is left", func() bool { return sh(t, "alice", "gpusched list --mine -o ids") == "" })
	cancel(t, "bob", busy)

	// The jobs cannot find a library, although the daemon still has it open.
	library := sh(t, "", "ldconfig -p | sed -n 's/.*libnvidia-ml.so.1 .*=> //p' | head -1")
	sh(t, "", "mv "+library+" "+library+".away")
	code, found = runDoctor(t, "alice", "--gpu-ids 0")
	sh(t, "", "mv "+library+".away "+library)
	if nvml := found[0]["nvml"]; code != 1 || nvml.Health != job.Failing {
		t.Errorf("without the library: %d, %+v", code, found[0])
	}

	// If a drop-in opens a GPU to all jobs, no job starts on another GPU.
	const dropIn = "/run/systemd/system/gpujob-.service.d"
	sh(t, "", "mkdir -p "+dropIn+"; printf '[Service]\\nDeviceAllow=/dev/nvidia3 rw\\n' > "+dropIn+"/90-suite.conf; systemctl daemon-reload")
	t.Cleanup(func() { sh(t, "", "rm -r "+dropIn+"; systemctl daemon-reload") })
	code, found = runDoctor(t, "alice", "--gpu-ids 0,3")
	start := found[0]["start"]
	if code != 1 || start.Health != job.Failing || !strings.Contains(start.Detail, "/dev/nvidia3 is not the job's, and yet the job can open it") {
		t.Errorf("a GPU that is open to all: %d, %+v", code, start)
	}
	if filter := found[3]["filter"]; filter.Health != job.Healthy {
		t.Errorf("and to its own job: %+v", filter)
	}
}

// TestDoctorReport: an ordinary user can write a bug report. The report contains no names.
func TestDoctorReport(t *testing.T) {
	begin(t)
	wait(t, submit(t, "bob", "-g 0 -n s3cr3t --comment s3cr3t --tag s3cr3t=1 -e S3CR3T=1 -- echo s3cr3t"))
	wait(t, submit(t, "alice", "-g 0 -n s3cr3t -- false s3cr3t"))
	sh(t, "alice", "rm -f report; gpusched doctor --report report")
	t.Cleanup(func() { sh(t, "alice", "rm -f report") })
	if mode := sh(t, "alice", "stat -c %a report"); mode != "600" {
		t.Errorf("mode %s", mode)
	}
	mustFail(t, "alice", "gpusched doctor --report report", 2, "already exists")
	for _, user := range []string{"alice", ""} {
		text := sh(t, user, "gpusched doctor --report")
		for _, word := range []string{"## Versions", "kernel: ", "Debian GNU/Linux", "## GPUs", "## Jobs by state", "failed: ", "HEALTHY"} {
			if !strings.Contains(text, word) {
				t.Errorf("%s: %q is not in it", who(user), word)
			}
		}
		for _, word := range []string{"s3cr3t", "S3CR3T", "bob", "alice", "GPU-", "/home/", "gpubox"} {
			if strings.Contains(text, word) {
				t.Errorf("%s: %q is in it:\n%s", who(user), word, text)
			}
		}
		if told := strings.Contains(text, " gpuschedd["); told != (user == "") {
			t.Errorf("%s: the log is in it: %v", who(user), told)
		}
	}
}
