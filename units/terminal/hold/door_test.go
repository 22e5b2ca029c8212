package hold

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/terminal"
)

// A job without a terminal can have a door. Commands run through the door have the environment of
// the job's process. Nobody can attach there, and the door ends when the job's process ends.
func TestDoor(t *testing.T) {
	job := fmt.Sprintf("test%d-door", os.Getpid())
	dir := t.TempDir()
	process := exec.Command("sh", "-c", "umask 027; cd '"+dir+"'; echo ready; exec cat")
	process.Env = []string{"OF_THE_JOB=yes", "PATH=" + os.Getenv("PATH")}
	in, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Process.Kill(); _ = process.Wait() })
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	for { // the process has become cat, whose environment counts
		if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", process.Process.Pid)); string(name) == "cat\n" {
			break
		}
	}
	opener := exec.Command(os.Args[0])
	opener.Env = append(os.Environ(), doorEnv+"="+job, fmt.Sprintf("MAINPID=%d", process.Process.Pid), "OF_THE_UNIT=yes")
	opener.Stderr = os.Stderr
	if err := opener.Run(); err != nil {
		t.Fatal(err)
	}
	h := &testJob{t: t, job: job}
	conn := h.greet(terminal.Greeting{Argv: commandOf("sh", "-c", "pwd; umask; echo $OF_THE_JOB $OF_THE_UNIT $BEFORE")})
	if shown, status := readUntil(t, conn, ""); status != 0 || shown != dir+"\n0027\nyes limits\n" {
		t.Errorf("%d, %q", status, shown)
	}
	conn = h.greet(terminal.Greeting{Rows: 24, Cols: 80})
	if kind, content, err := terminal.Read(conn); kind != terminal.Refused {
		t.Errorf("%c, %q, %v", kind, content, err)
	}
	conn = h.greet(terminal.Greeting{Argv: commandOf("sh", "-c", "trap '' TERM; echo begun; sleep 600")})
	readUntil(t, conn, "begun")
	in.Close() // the job ends, and the commands beside it
	_ = process.Wait()
	if _, status := readUntil(t, conn, ""); status != 129 {
		t.Error(status)
	}
	for {
		if _, err := terminal.Dial(job, os.Getuid()); errors.Is(err, terminal.ErrNone) {
			return
		}
	}
}

// If the site accepts jobs from sandboxes, a door admits sandboxed processes, whatever the command
// has done to its environment (invariant 6).
func TestDoorForSandboxes(t *testing.T) {
	for open, want := range map[string]string{"no": "b", contract.SandboxAllowed: "e\x00"} {
		job := fmt.Sprintf("test%d-sandbox-%s", os.Getpid(), open)
		process := exec.Command("cat")
		process.Env = []string{"OF_THE_JOB=yes"}
		in, err := process.StdinPipe()
		if err == nil {
			err = process.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		opener := exec.Command(os.Args[0])
		opener.Env = append(os.Environ(), doorEnv+"="+job, openToEnv+"="+open, fmt.Sprintf("MAINPID=%d", process.Process.Pid))
		opener.Stderr = os.Stderr
		if err := opener.Run(); err != nil {
			t.Error(err)
		} else if got := fromSandbox(t, job); !strings.HasPrefix(got, want) {
			t.Errorf("open to sandboxes %q: answered %q, want %q", open, got, want)
		}
		in.Close()
		_ = process.Wait()
	}
}
