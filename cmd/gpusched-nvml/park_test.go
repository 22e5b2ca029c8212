package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/gpu/fakenvml"
	"github.com/gpusched/gpusched/packaging/test/await"
)

// A rig is a fake driver that can park, with a directory of its libcuda.so.1 and of device nodes.
type rig struct {
	t *testing.T
	machine
	dir string
}

func newRig(t *testing.T, without ...string) rig {
	t.Helper()
	r := rig{t, newMachine(t), t.TempDir()}
	_, err := fakenvml.BuildCUDA(r.dir, without...)
	for _, node := range []string{"nvidia0", "nvidia1", "nvidia2"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(r.dir, node), nil, 0o600))
	}
	r.check(err)
	return r
}

func (r rig) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r rig) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(r.t.Context(), name, args...)
	cmd.Env = []string{r.Env(), "SIMCUDA_DEV=" + r.dir, "LD_LIBRARY_PATH=" + r.dir, "CUDA_VISIBLE_DEVICES=0"}
	return cmd
}

func (r rig) start(cmd *exec.Cmd) int {
	r.t.Helper()
	r.check(cmd.Start())
	r.t.Cleanup(func() { kill(cmd) })
	return cmd.Process.Pid
}

func kill(cmd *exec.Cmd) { _, _ = cmd.Process.Kill(), cmd.Wait() }

func (r rig) await(what string, is func() bool) {
	r.t.Helper()
	r.check(await.Until(r.t.Context(), what, time.Minute, 5*time.Millisecond, func(context.Context) (string, bool, error) { return "", is(), nil }))
}

// processes starts a process on each of the two GPUs.
func (r rig) processes() (pids []int) {
	r.t.Helper()
	for minor := range 2 {
		pid := r.start(r.command("/bin/sleep", "1000"))
		r.check(r.Claim(pid, minor, 1<<30))
		pids = append(pids, pid)
	}
	return pids
}

// helper returns the command that parks or unparks the processes.
func (r rig) helper(mode string, pids ...int) *exec.Cmd {
	args := []string{mode}
	for _, pid := range pids {
		args = append(args, gpu.ParkArgument(pid, gpu.StartOf("/proc", pid)))
	}
	return r.command(program, args...)
}

// want runs a command and checks its exit status, its text and then the states of the processes.
func (r rig) want(cmd *exec.Cmd, status gpu.ParkStatus, says string, pids []int, states ...int) {
	r.t.Helper()
	out, _ := cmd.CombinedOutput()
	if got, text := cmd.ProcessState.ExitCode(), strings.TrimSpace(string(out)); got != int(status) || text != says {
		r.t.Errorf("%s: exit status %d, want %d, and %q, want %q", cmd.Args[1], got, status, text, says)
	}
	var are []int
	for _, pid := range pids {
		are = append(are, r.ProcessState(pid))
	}
	if !slices.Equal(are, states) {
		r.t.Errorf("%s: the states are %d, want %d", cmd.Args[1], are, states)
	}
}

// uses waits until this much memory of a GPU is in use, by this process alone (0: none).
func (r rig) uses(index, pid int, gib uint64) {
	r.t.Helper()
	s := r.open(0)
	defer s.Close()
	r.await(fmt.Sprintf("process %d has %d GiB of GPU %d", pid, gib, index), func() bool {
		snapshot, err := s.Sample(r.t.Context())
		r.check(err)
		d := snapshot.Devices[index]
		return d.MemUsedBytes>>30 == gib && (pid == 0) == (len(d.Processes) == 0) && (pid == 0 || d.Processes[0].PID == pid)
	})
}

// programs starts simcuda on GPUs 0 and 1. The function that it returns compares their results.
func (r rig) programs() (first *exec.Cmd, same func()) {
	r.t.Helper()
	simcuda, err := fakenvml.BuildSimCUDA(r.dir)
	r.check(err)
	outs := make([]strings.Builder, 2)
	both := make([]*exec.Cmd, 2)
	for i := range both {
		both[i] = r.command(simcuda, "--mem", "50G", "--hold", "3", "--sum")
		both[i].Stdout, both[i].Env = &outs[i], append(both[i].Env, fmt.Sprintf("CUDA_VISIBLE_DEVICES=%d", i))
		r.start(both[i])
	}
	return both[0], func() {
		r.t.Helper()
		r.check(errors.Join(both[0].Wait(), both[1].Wait()))
		if parked, alone := outs[0].String(), outs[1].String(); parked != alone || !strings.HasPrefix(alone, "sum ") {
			r.t.Errorf("parked, it says %q, alone %q", parked, alone)
		}
	}
}

// moves returns the command that unparks the processes and moves them from GPUs to other GPUs.
func (r rig) moves(pids []int, pairs ...[2]int) *exec.Cmd {
	cmd := r.helper("--unpark", pids...)
	for _, p := range pairs {
		cmd.Args = append(cmd.Args, gpu.ParkMoveArgument(uuid(p[0]), uuid(p[1])))
	}
	return cmd
}

func uuid(index int) string { return fmt.Sprintf("GPU-fa4e0000-0000-4000-8000-%012d", index) }

// TestPark: a program that is parked leaves its GPU to another program. It can't have the GPU back
// while the other has the memory, or while it may not open the GPU. Then it ends with the same result
// as without parking.
func TestPark(t *testing.T) {
	r := newRig(t)
	simcuda, same := r.programs()
	pids := []int{simcuda.Process.Pid}
	r.uses(0, pids[0], 50)
	r.check(r.SetPark("ms_per_gib=2", "init=1"))
	r.want(r.helper("--park", pids...), gpu.ParkDone, "done", pids, 2)
	r.want(r.helper("--park", pids...), gpu.ParkDone, "done", pids, 2)
	r.uses(0, 0, 0)
	other := r.command(simcuda.Path, "--mem", "60G", "--hold", "1000")
	r.uses(0, r.start(other), 60)
	r.want(r.helper("--unpark", pids...), gpu.ParkUnsure, "cuCheckpointProcessRestore: 2 CUDA_ERROR_OUT_OF_MEMORY", pids, 2)
	kill(other)
	r.check(os.Rename(r.dir+"/nvidia0", r.dir+"/closed"))
	r.want(r.helper("--unpark", pids...), gpu.ParkUnsure, "cuCheckpointProcessRestore: 101 CUDA_ERROR_INVALID_DEVICE", pids, 2)
	r.check(os.Rename(r.dir+"/closed", r.dir+"/nvidia0"))
	r.want(r.helper("--unpark", pids...), gpu.ParkDone, "done", pids, 0)
	r.want(r.helper("--unpark", pids...), gpu.ParkDone, "done", pids, 0)
	r.uses(0, pids[0], 50)
	same()
}

// TestParkMoves: a program that is parked goes on with its GPU memory on another GPU of the same model,
// even if the program that moves it is killed. If the driver can't move it, it stays parked.
func TestParkMoves(t *testing.T) {
	r := newRig(t)
	r.check(r.State.SetGPUs("", "", "used_mib=60000", `name="NVIDIA H100 PCIe"`))
	simcuda, same := r.programs()
	pids := []int{simcuda.Process.Pid}
	r.uses(0, pids[0], 50)
	r.want(r.helper("--park", pids...), gpu.ParkDone, "done", pids, 2)
	r.check(os.Rename(r.dir+"/nvidia0", r.dir+"/closed"))
	const restore = "cuCheckpointProcessRestore: "
	for _, c := range []struct {
		from, to int
		says     string
	}{
		{1, 2, restore + "1 CUDA_ERROR_INVALID_VALUE"},
		{0, 2, restore + "2 CUDA_ERROR_OUT_OF_MEMORY"},
		{0, 3, restore + "101 CUDA_ERROR_INVALID_DEVICE"}, // another model
		{0, 0, restore + "101 CUDA_ERROR_INVALID_DEVICE"}, // closed
		{0, 9, restore + "101 CUDA_ERROR_INVALID_DEVICE"}, // unknown
	} {
		r.want(r.moves(pids, [2]int{c.from, c.to}), gpu.ParkRefused, c.says, pids, 2)
	}
	r.check(r.State.SetGPUs("", "", "", ""))
	to2 := func(status gpu.ParkStatus, says string, state int) {
		t.Helper()
		r.want(r.moves(pids, [2]int{0, 2}), status, says, pids, state)
	}
	r.check(r.SetPark("fail=restore:801"))
	to2(gpu.ParkRefused, restore+"801 CUDA_ERROR_NOT_SUPPORTED", 2)
	r.check(r.SetPark("die=restore"))
	to2(-1, "", 2)
	r.check(r.SetPark("fail=unlock:999"))
	to2(gpu.ParkUnsure, "cuCheckpointProcessUnlock: 999 CUDA_ERROR_UNKNOWN", 1)
	r.check(r.SetPark("die=unlock"))
	to2(-1, "", 1)
	r.check(r.SetPark())
	to2(gpu.ParkDone, "done", 0)
	to2(gpu.ParkDone, "done", 0)
	r.uses(2, pids[0], 50)
	r.uses(0, 0, 0)
	same()
}

// TestParkMovesAll: a process with two GPUs can exchange them, or return to its own after a move was refused.
// A list of pairs that leaves out a GPU is refused, and so is a move that fails for the first process.
func TestParkMovesAll(t *testing.T) {
	r := newRig(t)
	pids := r.processes()[:1]
	r.check(r.Claim(pids[0], 2, 3<<30))
	exchange := [][2]int{{0, 2}, {2, 0}}
	r.want(r.helper("--park", pids...), gpu.ParkDone, "done", pids, 2)
	r.want(r.moves(pids, exchange[0]), gpu.ParkRefused, "cuCheckpointProcessRestore: 1 CUDA_ERROR_INVALID_VALUE", pids, 2)
	r.check(r.State.SetGPUs("cuda=999", "", ""))
	r.want(r.moves(pids, exchange...), gpu.ParkRefused, "cuInit: 999 CUDA_ERROR_UNKNOWN", pids, 2)
	r.check(r.State.SetGPUs("", "", ""))
	r.want(r.helper("--unpark", pids...), gpu.ParkDone, "done", pids, 0)
	r.uses(0, pids[0], 1)
	r.want(r.helper("--park", pids...), gpu.ParkDone, "done", pids, 2)
	r.want(r.moves(pids, exchange...), gpu.ParkDone, "done", pids, 0)
	r.uses(0, pids[0], 3)
	r.uses(2, pids[0], 1)

	pids = r.processes()
	r.want(r.helper("--park", pids...), gpu.ParkDone, "done", pids, 2, 2)
	r.check(r.SetPark("fail=restore:801", fmt.Sprintf("pid=%d", pids[1])))
	says := "cuCheckpointProcessRestore: 801 CUDA_ERROR_NOT_SUPPORTED"
	r.want(r.moves(pids, [2]int{0, 0}, [2]int{1, 1}), gpu.ParkUnsure, says, pids, 1, 2)
}

// TestParkAllOrNone: if the driver can't park one of two processes, both run on. If it can't give one
// its memory back, the exit status says whether it may be tried again.
func TestParkAllOrNone(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		mode   string
		words  string // for the second process
		status gpu.ParkStatus
		says   string
		states [2]int
	}{
		{"--park", "fail=state:1", gpu.ParkRefused, "cuCheckpointProcessGetState: 1 CUDA_ERROR_INVALID_VALUE", [2]int{0, 0}},
		{"--park", "fail=lock:600", gpu.ParkRefused, "cuCheckpointProcessLock: 600 CUDA_ERROR_NOT_READY", [2]int{0, 0}},
		{"--park", "fail=checkpoint:801", gpu.ParkRefused, "cuCheckpointProcessCheckpoint: 801 CUDA_ERROR_NOT_SUPPORTED", [2]int{0, 0}},
		{"--park", "fail=checkpoint:999 failed=1", gpu.ParkBroken, "cuCheckpointProcessCheckpoint: 999 CUDA_ERROR_UNKNOWN", [2]int{1, 3}},
		{"--unpark", "fail=restore:999", gpu.ParkUnsure, "cuCheckpointProcessRestore: 999 CUDA_ERROR_UNKNOWN", [2]int{1, 2}},
		{"--unpark", "fail=restore:999 failed=1", gpu.ParkBroken, "cuCheckpointProcessRestore: 999 CUDA_ERROR_UNKNOWN", [2]int{1, 3}},
		{"--unpark", "fail=unlock:1", gpu.ParkUnsure, "cuCheckpointProcessUnlock: 1 CUDA_ERROR_INVALID_VALUE", [2]int{0, 1}},
	} {
		pids := r.processes()
		if c.mode == "--unpark" {
			r.want(r.helper("--park", pids...), gpu.ParkDone, "done", pids, 2, 2)
		}
		r.check(r.SetPark(c.words, fmt.Sprintf("pid=%d", pids[1])))
		r.want(r.helper(c.mode, pids...), c.status, c.says, pids, c.states[:]...)
		r.check(r.SetPark())
		if c.status == gpu.ParkBroken {
			r.want(r.helper("--park", pids...), gpu.ParkBroken, "a process is in the driver's state FAILED", pids, 1, 3)
		} else {
			r.want(r.helper("--unpark", pids...), gpu.ParkDone, "done", pids, 0, 0)
		}
	}
}

// TestParkKilled: the program may be killed before each of its calls. Called again, it goes on.
func TestParkKilled(t *testing.T) {
	r := newRig(t)
	pids := r.processes()
	for _, at := range []struct {
		mode, undo, call string
		states           [2]int // when it is killed in the call for the second process
		then             int
	}{
		{"--park", "--unpark", "state", [2]int{0, 0}, 2},
		{"--park", "--unpark", "lock", [2]int{1, 0}, 2},
		{"--park", "--unpark", "checkpoint", [2]int{2, 1}, 2},
		{"--unpark", "--park", "state", [2]int{1, 2}, 0},
		{"--unpark", "--park", "restore", [2]int{1, 2}, 0},
		{"--unpark", "--park", "unlock", [2]int{0, 1}, 0},
	} {
		for i, pid := range pids {
			r.want(r.helper(at.undo, pids...), gpu.ParkDone, "done", pids, 2-at.then, 2-at.then)
			r.check(r.SetPark("die="+at.call, fmt.Sprintf("pid=%d", pid)))
			if i == 0 {
				_ = r.helper(at.mode, pids...).Run()
			} else {
				r.want(r.helper(at.mode, pids...), -1, "", pids, at.states[:]...)
			}
			r.check(r.SetPark())
			r.want(r.helper(at.mode, pids...), gpu.ParkDone, "done", pids, at.then, at.then)
		}
	}
	r.check(r.SetPark("hang=checkpoint"))
	hangs := r.helper("--park", pids...)
	r.start(hangs)
	r.await("both are locked", func() bool { return r.ProcessState(pids[1]) == 1 })
	kill(hangs)
	r.check(r.SetPark())
	r.want(r.helper("--unpark", pids...), gpu.ParkDone, "done", pids, 0, 0)
}

// TestParkPassesOver: a process that has ended is passed over, also if another has its pid. A process
// that ends while it is parked leaves nothing behind.
func TestParkPassesOver(t *testing.T) {
	r := newRig(t)
	pids := r.processes()
	other := gpu.ParkArgument(pids[0], gpu.StartOf("/proc", pids[0])-1)
	r.want(r.command(program, "--park", other), gpu.ParkDone, "the processes have ended", pids, 0, 0)
	r.want(r.command(program, "--park", other, r.helper("", pids[1]).Args[2]), gpu.ParkDone, "done", pids, 0, 2)
	r.want(r.helper("--park", pids...), gpu.ParkDone, "done", pids, 2, 2)
	both := r.helper("--unpark", pids...)
	first, err := os.FindProcess(pids[0])
	r.check(errors.Join(err, first.Kill()))
	r.await("it has ended", func() bool { return !gpu.OwnerOf("/proc", pids[0]).Alive })
	r.want(both, gpu.ParkDone, "done", pids, 0, 0)
}

// TestParkWithoutDriver: without the library, or with one of a driver before 570, nothing is done.
func TestParkWithoutDriver(t *testing.T) {
	r := newRig(t, "cuCheckpointProcessLock")
	pids := r.processes()
	r.want(r.helper("--park", pids...), gpu.ParkNoDriver, "libcuda.so.1 has no function cuCheckpointProcessLock", pids, 0, 0)
	none := r.helper("--unpark", pids...)
	none.Env = []string{r.Env(), "LD_LIBRARY_PATH=/none"}
	r.want(none, gpu.ParkNoDriver, "libcuda.so.1: cannot open shared object file: No such file or directory", pids, 0, 0)
}
