package source

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpusched/gpusched/gpu"
)

// The child in these tests is the test binary itself, which behaves according to this variable.
const variableMode = "SOURCE_TEST_MODE"

func TestMain(m *testing.M) {
	switch mode := os.Getenv(variableMode); mode {
	case "":
		os.Exit(m.Run())
	case "parent":
		beParent()
	default:
		os.Exit(behave(mode, os.Args[1:]))
	}
}

// behave answers requests according to the mode. The argument args may name a file.
func behave(mode string, args []string) int {
	if mode == "hang unless there" {
		mode = "hang"
		if _, err := os.Stat(args[0]); err == nil {
			mode = "good"
		}
	}
	switch mode {
	case "crash at once":
		fmt.Fprintln(os.Stderr, "symbol lookup error: \x1b[31mundefined symbol")
		return 127
	case "deaf":
		_ = os.Stdin.Close()
		_ = os.Stdout.Close()
		hang()
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var req struct{ Seq uint64 }
		if err := json.Unmarshal(lines.Bytes(), &req); err != nil {
			return 9
		}
		if code := reply(mode, req.Seq, args); code >= 0 {
			return code
		}
	}
	return 0
}

// reply writes one answer. It returns the exit status of the child, or a negative number if the
// child continues.
func reply(mode string, seq uint64, args []string) int {
	switch mode {
	case "hang":
		signal.Ignore(syscall.SIGTERM)
		hang()
	case "hold a pipe and hang":
		if _, err := os.OpenFile(args[0], os.O_WRONLY, 0); err != nil {
			return 8
		}
		fmt.Println("holding")
		hang()
	case "crash on a request":
		return 3
	case "garbage":
		fmt.Println("hello")
		return -1
	case "another seq":
		seq += 7
	case "endless line":
		for chunk := strings.Repeat("x", 1<<20); ; {
			if _, err := io.WriteString(os.Stdout, chunk); err != nil {
				return 0
			}
		}
	case "talk":
		for i := range 1000 {
			fmt.Fprintf(os.Stderr, "line %d\x07 %s\n", i, strings.Repeat("y", 2000))
		}
	case "when there":
		for {
			if _, err := os.Stat(args[0]); err == nil {
				break
			}
			time.Sleep(time.Millisecond) // in the child, not in a test
		}
	}
	line, err := gpu.Encode(gpu.Snapshot{Seq: seq, TakenUnixNano: time.Now().UnixNano(), Detail: fmt.Sprint(os.Getpid())})
	if err != nil {
		return 7
	}
	if mode == "in pieces" {
		for _, b := range line {
			_, _ = os.Stdout.Write([]byte{b})
		}
		return -1
	}
	_, _ = os.Stdout.Write(line)
	if mode == "one answer" {
		return 0
	}
	return -1
}

// hang does not use select{}, which the runtime reports as a deadlock.
func hang() {
	for {
		_ = syscall.Pause()
	}
}

// beParent is a daemon that dies while its child hangs in the driver.
func beParent() {
	s := New(Options{Path: os.Args[0], Args: os.Args[1:], Env: []string{variableMode + "=hold a pipe and hang"}, Timeout: time.Hour})
	_, err := s.Sample(context.Background())
	fmt.Println(err)
}

func options(t *testing.T, mode string, args ...string) Options {
	t.Helper()
	return Options{Path: os.Args[0], Args: args, Env: []string{variableMode + "=" + mode}, Timeout: 20 * time.Second}
}

func open(t *testing.T, o Options) *Source {
	t.Helper()
	s := New(o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return s
}

func filename(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "there")
}
