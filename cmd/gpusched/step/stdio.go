package step

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/alias"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
)

// leftOver is the time for which the output of processes that a task leaves running is still printed.
const leftOver = time.Second

// connect labels the output of a task if --label is given, and connects the task's standard input, as
// --input says. Without --input, the first task reads that of the step.
func connect(a *cli.App, call *alias.Call, cmd *exec.Cmd, task, tasks int) (labels []*labelled, err error) {
	rank := strconv.Itoa(task)
	if call.StepLabels {
		label := fmt.Sprintf("%*d: ", len(strconv.Itoa(tasks-1)), task)
		out, errs := &labelled{to: cmd.Stdout, label: label}, &labelled{to: cmd.Stderr, label: label}
		labels, cmd.Stdout, cmd.Stderr = []*labelled{out, errs}, out, errs
		cmd.WaitDelay = leftOver
	}
	switch in := call.StepInput; {
	case in == rank, rank == "0" && (in == "" || in == "all"):
		cmd.Stdin = os.Stdin
	case in == "all", in == "none", strings.Trim(in, "0123456789") == "":
	default:
		f, err := os.Open(stepLog(a, in, rank))
		cmd.Stdin = f // it stays open until the step ends
		return labels, err
	}
	return labels, nil
}

// A labelled writes each line of a task's output with the number of the task before it.
type labelled struct {
	to    io.Writer
	label string
	rest  []byte // the unfinished line
}

// longestLine is the length from which a line is written before it is finished.
const longestLine = 64 << 10

func (l *labelled) Write(text []byte) (int, error) {
	l.rest = append(l.rest, text...)
	for {
		at := bytes.IndexByte(l.rest, '\n')
		if at < 0 {
			if len(l.rest) >= longestLine {
				l.end()
			}
			return len(text), nil
		}
		line := append([]byte(l.label), l.rest[:at+1]...)
		l.rest = l.rest[at+1:]
		if _, err := l.to.Write(line); err != nil {
			return 0, err
		}
	}
}

// end writes the unfinished line.
func (l *labelled) end() {
	if len(l.rest) > 0 {
		_, _ = l.to.Write(append(append([]byte(l.label), l.rest...), '\n'))
		l.rest = nil
	}
}
