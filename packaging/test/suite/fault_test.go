//go:build machine

package suite

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// TestFaultedGPU: an error in the kernel's log takes a GPU out of service. A container has no
// kernel log, so the test uses a file instead.
func TestFaultedGPU(t *testing.T) {
	begin(t)
	sh(t, "", ": > /run/kmsg")
	settings(t, "[gpus]\nkernel_log = \"/run/kmsg\"")
	seq := 100
	faultedGPU(t, func(text string) {
		seq++
		sh(t, "", fmt.Sprintf(`printf '4,%d,%%d,-;%%s\n' "$(awk '{printf "%%.0f", $1 * 1000000}' /proc/uptime)" '%s' >> /run/kmsg`, seq, text))
	})
}

// TestBootForgedXid: the daemon reads the kernel's own log from inside its sandbox, and trusts only
// the driver's lines. It trusts no lines that programs wrote. Nor does it trust the kernel's line
// about a process of bob's whose name and file imitate the driver's words.
func TestBootForgedXid(t *testing.T) {
	begin(t)
	sh(t, "", "echo 'NVRM: Xid (PCI:0000:0f:00): 79, GPU has fallen off the bus.' > /dev/kmsg")
	for _, comm := range []string{"Xid (0:f:0 x", "NVRM: Xid (PCI:"} {
		forger(t, comm, "): 79, GPU has fallen off the bus.")
		forger(t, comm, "0000:0f:00): 79, GPU has fallen off the bus.")
	}
	poll(t, "the kernel has logged bob's process", func() bool {
		return strings.Contains(sh(t, "", "dmesg"), "Xid (0:f:0 x[")
	})
	if out, _ := health(t); strings.Contains(out, "Xid 79") || !strings.Contains(out, "(Xids) are noticed") {
		t.Errorf("health: %s", out)
	}
	mustEnd(t, wait(t, submit(t, "alice", "-g 4 -- true")), "completed", "exit code 0")
	if out := sh(t, "bob", "gpusched gpus -o csv"); strings.Contains(out, "sick") {
		t.Errorf("a line of bob's takes a GPU out of service: %s", out)
	}
}

// forger runs a program as bob. The program gives itself a name, and crashes with a segmentation
// fault in a file with a given name. The file is a minimal ELF file that calls prctl(PR_SET_NAME)
// and writes to address 0.
func forger(t *testing.T, comm, file string) {
	t.Helper()
	code := append([]byte("\xb8\x9d\x00\x00\x00\xbf\x0f\x00\x00\x00\x48\x8d\x35\x06\x00\x00\x00\x0f\x05\x31\xc0\x89\x00"), comm+"\x00"...)
	const at, head = 0x400000, 120
	size := uint64(head + len(code))
	var b bytes.Buffer
	b.WriteString("\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9))
	for _, v := range []any{
		uint16(2), uint16(62), uint32(1), uint64(at + head), uint64(64), uint64(0), uint32(0), uint16(64), uint16(56), uint16(1), uint16(0), uint16(0), uint16(0),
		uint32(1), uint32(5), uint64(0), uint64(at), uint64(at), size, size, uint64(4096),
	} {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	b.Write(code)
	sh(t, "bob", fmt.Sprintf("cd && f=%q && echo %s | base64 -d > \"./$f\" && chmod +x \"./$f\" && { \"./$f\" || true; }", file, base64.StdEncoding.EncodeToString(b.Bytes())))
}

// faultedGPU checks that the result of the affected job names the error. It also checks that the
// GPU takes no job, even after a restart, until an administrator says that it was reset.
func faultedGPU(t *testing.T, kernel func(string)) {
	t.Helper()
	on := submit(t, "alice", "--gpu-ids 1 -- sleep 1000")
	waitRun(t, on)
	pid := sh(t, "", fmt.Sprintf("systemctl show -P MainPID gpujob-%d", on))
	kernel("NVRM: Xid (PCI:0000:0f:00): 31, pid=" + strings.TrimSpace(pid) + ", name=sleep, Ch 00000008, intr 00000000. MMU Fault")
	kernel("NVRM: Xid (PCI:0000:0f:00): 48, pid=" + strings.TrimSpace(pid) + ", name=sleep, DBE")
	state := func() string { return sh(t, "bob", "gpusched gpus -o csv | awk -F, '$1 == 1'") }
	poll(t, "the GPU is out of service", func() bool { return strings.Contains(state(), "sick") })
	if out := sh(t, "bob", "gpusched health -o json || true"); !strings.Contains(out, "Xid 48 (double-bit ECC error)") || !strings.Contains(out, "nvidia-smi -i 1 --gpu-reset") {
		t.Errorf("health: %s", out)
	}
	poll(t, "the administrator is alerted", func() bool {
		out := sh(t, "", "journalctl --no-pager -o cat -u gpusched -p err")
		return strings.Contains(out, "out of service") && strings.Contains(out, "Xid 48")
	})
	poll(t, "alice is told", func() bool { return strings.Contains(strings.Join(messagesIn(t, "alice", on), " "), "Xid 31") })
	next := submit(t, "bob", "--gpu-ids 1 -- true")
	waitsFor(t, "bob", next, "out of service (Xid 48")
	mustEnd(t, wait(t, submit(t, "bob", "-g 1 -- true")), "completed", "exit code 0")
	if j := show(t, "", on); j.State != "running" {
		t.Errorf("the job on the faulted GPU is %s", j.State)
	}
	sh(t, "", "systemctl kill --signal SEGV "+fmt.Sprintf("gpujob-%d", on))
	mustEnd(t, wait(t, on), "failed", "GPU 1 reported Xid 31 (the job used a bad GPU address)")
	sh(t, "", "systemctl restart gpusched")
	poll(t, "the GPUs are known", func() bool { return state() != "" })
	waitsFor(t, "bob", next, "out of service")
	sh(t, "", "gpusched gpu undrain 1")
	mustEnd(t, wait(t, next), "completed", "exit code 0")
	sh(t, "", "systemctl restart gpusched")
	mustEnd(t, wait(t, submit(t, "bob", "--gpu-ids 1 -- true")), "completed", "exit code 0")
}

// TestLostGPUEndsItsJobs: if a job's GPU is lost, the job is ended. It does not wait for the GPU.
func TestLostGPUEndsItsJobs(t *testing.T) {
	begin(t)
	settings(t, quickSampling)
	gpusSeen(t)
	on := submit(t, "alice", "--gpu-ids 2 -- sleep 1000")
	other := submit(t, "alice", "--gpu-ids 0 -- sleep 1000")
	waitRun(t, on)
	waitRun(t, other)
	sh(t, "", `for i in 0 1 2 3; do echo "minor=$i$([ $i = 2 ] && echo ' lost=1')"; done > /run/fakenvml/gpus`)
	mustEnd(t, wait(t, on), "failed", "stopped because GPU 2 was lost")
	if j := show(t, "", other); j.State != "running" {
		t.Errorf("the job on another GPU is %s", j.State)
	}
	poll(t, "the journal says so", func() bool {
		return strings.Contains(sh(t, "", "journalctl -u gpusched -p err -o cat"), "gpu is lost gpu=2 ")
	})
	sh(t, "", "rm /run/fakenvml/gpus")
	poll(t, "the journal says that the GPU is back", func() bool {
		return strings.HasSuffix(strings.TrimSpace(sh(t, "", "journalctl -u gpusched GPUSCHED_GPU=2 -o cat | grep '^gpu is' | cut -d' ' -f1-5")), "gpu is in service gpu=2")
	})
}

// TestBadRows: if memory rows of a GPU cannot be replaced, the GPU
// takes no jobs until an administrator accepts the rows. If rows
// wait for a reset, the GPU takes no jobs only if the site says so.
func TestBadRows(t *testing.T) {
	begin(t)
	settings(t, quickSampling)
	sh(t, "", `printf 'minor=0 rows_failed=1\nminor=1 rows_pending=1\nminor=2\nminor=3\n' > /run/fakenvml/gpus`)
	healthSays(t, "will be replaced at the next reset; programs can run until then")
	mustEnd(t, wait(t, submit(t, "alice", "--gpu-ids 1 -- true")), "completed", "exit code 0")
	bad := submit(t, "alice", "--gpu-ids 0 -- true")
	waitsFor(t, "alice", bad, "could not be replaced")
	sh(t, "", "gpusched gpu undrain 0")
	mustEnd(t, wait(t, bad), "completed", "exit code 0")
	settings(t, quickSampling+"\ndrain_bad_memory = \"pending\"")
	sh(t, "", `printf 'minor=0\nminor=1 rows_pending=1\nminor=2\nminor=3\n' > /run/fakenvml/gpus`)
	poll(t, "the GPU is out of service", func() bool {
		return strings.Contains(sh(t, "", "gpusched health -o json || true"), "it needs a reset")
	})
	id := submit(t, "alice", "--gpu-ids 1 -- true")
	waitsFor(t, "alice", id, "it needs a reset")
	sh(t, "", "rm /run/fakenvml/gpus")
	mustEnd(t, wait(t, id), "completed", "exit code 0")
}
