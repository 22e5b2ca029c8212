package hold

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/terminal"
)

// roleEnv makes the test binary the holder of the job that it names.
const roleEnv = "GPUSCHED_HOLD_ROLE"

// sessionEnv names the holder's GNU screen session.
const sessionEnv = "GPUSCHED_HOLD_SESSION"

// patientEnv makes the holder wait long for its first client.
const patientEnv = "GPUSCHED_HOLD_PATIENT"

// aimedEnv lists the signals that the holder passes on.
const aimedEnv = "GPUSCHED_HOLD_AIMED"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == contract.DoorFlag {
		os.Unsetenv(doorEnv)
		os.Exit(Door(os.Args[0], os.Environ(), func(int) string { return "limits" }, nil))
	}
	if len(os.Args) > 3 && os.Args[1] == contract.LimitFlag {
		_ = syscall.Exec("/bin/sh", append([]string{"sh", "-c", `export BEFORE="$0"; exec "$@"`}, os.Args[2:]...), os.Environ())
	}
	if len(os.Args) > 3 && os.Args[1] == contract.EngineFlag {
		os.Exit(Engine(os.Args[3:], os.Environ(), os.Args[2]))
	}
	if len(os.Args) > 2 && os.Args[1] == contract.InitFlag {
		os.Exit(Init(os.Args[2:], os.Environ()))
	}
	if job := os.Getenv(sandboxEnv); job != "" {
		os.Exit(visitFromSandbox(job))
	}
	if job := os.Getenv(doorEnv); job != "" {
		os.Exit(OpenDoor(os.Args[0], job, "", append(os.Environ(), contract.SandboxVariable+"="+os.Getenv(openToEnv))))
	}
	if job := os.Getenv(roleEnv); job != "" {
		if os.Getenv(patientEnv) != "" {
			firstClient = time.Minute
		}
		if len(os.Args) == 3 && os.Args[1] == contract.ScreenShowFlag {
			os.Exit(Show(os.Args[2], os.Getenv("TERM")))
		}
		os.Exit(Main(os.Args[1:], testPrefix(), append(os.Environ(), "GPUSCHED_JOB_ID="+job), os.Getenv(sessionEnv), os.Getenv(aimedEnv), nil))
	}
	os.Exit(m.Run())
}

// testPrefix returns a prefix for each command: a program that reports that it ran.
func testPrefix() []string {
	if os.Getenv(beforeEnv) == "" {
		return nil
	}
	return []string{"env", "BEFORE=1"}
}

const beforeEnv = "GPUSCHED_HOLD_BEFORE"

// doorEnv makes the test binary open the door of the job that it names.
const doorEnv = "GPUSCHED_HOLD_DOOR"

// openToEnv makes the door that doorEnv opens admit sandboxed processes.
const openToEnv = "GPUSCHED_HOLD_OPEN"

// sandboxEnv makes the test binary a sandboxed client of the job that it names. againEnv means that
// the client is already in the sandbox.
const (
	sandboxEnv = "GPUSCHED_HOLD_SANDBOX"
	againEnv   = "GPUSCHED_HOLD_AGAIN"
)

// A testJob is a job with a terminal.
type testJob struct {
	*exec.Cmd
	t       testing.TB
	job     string
	journal liveJournal
}

func start(t testing.TB, argv ...string) *testJob {
	h := &testJob{t: t, job: fmt.Sprintf("test%d%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-"))}
	h.Cmd = exec.Command(os.Args[0], argv...)
	h.Env = append(os.Environ(), roleEnv+"="+h.job)
	h.Stdout, h.Stderr = &h.journal, &h.journal
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Process.Kill(); _ = h.Cmd.Wait() })
	return h
}

func (h *testJob) dial() *os.File {
	h.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		conn, err := terminal.Dial(h.job, os.Getuid())
		if err == nil {
			h.t.Cleanup(func() { conn.Close() })
			return conn
		}
		if time.Now().After(end) {
			h.t.Fatal(err)
		}
	}
}

func (h *testJob) greet(g terminal.Greeting) *os.File {
	h.t.Helper()
	conn := h.dial()
	content, _ := json.Marshal(g)
	say(h.t, conn, terminal.Hello, string(content))
	return conn
}

func say(t testing.TB, conn io.Writer, k terminal.Kind, content string) {
	t.Helper()
	if _, err := conn.Write(terminal.Encode(k, []byte(content))); err != nil {
		t.Fatal(err)
	}
}

// readUntil reads the output until it contains the text. If the text is "", it reads to the end,
// and also returns the status.
func readUntil(t testing.TB, conn *os.File, text string) (shown string, status int) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	for {
		kind, content, err := terminal.Read(conn)
		switch {
		case err != nil:
			t.Fatalf("%v after %q", err, shown)
		case kind == terminal.Ended:
			if text != "" {
				t.Fatalf("ended with %d after %q", content[0], shown)
			}
			return shown, int(content[0])
		case kind == terminal.Refused:
			t.Fatalf("refused: %s", content)
		}
		if shown += string(content); text != "" && strings.Contains(shown, text) {
			return shown, -1
		}
	}
}

func (h *testJob) ends(want string) {
	h.t.Helper()
	if err := h.Cmd.Wait(); fmt.Sprint(err) != want {
		h.t.Errorf("the job ended with %v, not %s; it printed %q", err, want, h.journal.String())
	}
}

func commandOf(argv ...string) (list [][]byte) {
	for _, arg := range argv {
		list = append(list, []byte(arg))
	}
	return list
}
