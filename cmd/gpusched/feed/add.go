package feed

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/jobsfile"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// AddCmd appends a line to a file of jobs.
type AddCmd struct {
	Conda    string `name:"conda" placeholder:"ENV" group:"needs"`
	Args     string `name:"args" placeholder:"WORDS" group:"needs"`
	Priority int    `name:"priority" placeholder:"N" group:"needs"`
	GPUs     string `name:"gpus" placeholder:"LIST" group:"needs"`
	File     string `name:"output-file" placeholder:"FILE" default:"jobs.txt" group:"self"`
	Force    bool   `name:"force" group:"self"`
	Script   string `arg:"" name:"script" help:"The script."`
}

func (*AddCmd) About() cli.About {
	return cli.About{Host: cli.OnlyHere, Hosts: cli.OneAtATime, Slurm: cli.ForSlurm}
}

func (c *AddCmd) Run(ctx context.Context, a *cli.App) error {
	script, err := jobenv.WorkDir(a, c.Script)
	if err != nil {
		return err
	}
	if _, err := os.Stat(script); err != nil && !c.Force {
		return cli.Refuse(api.CodeUsage, jobenv.DidYouMean(a, c.Script, script), "there is no file %q", c.Script)
	}
	if _, err := job.ParseGPUList(c.GPUs); err != nil {
		return cli.Usagef("--gpus: %v", err)
	}
	if _, err := cli.SplitWords(c.Args); err != nil {
		return cli.Usagef("--args: %v", err)
	}
	e := jobsfile.Entry{Script: script, Args: c.Args, Conda: c.Conda, From: c.GPUs}
	e.Priority, e.HasPriority = c.Priority, true
	line := jobsfile.Column(e)
	back := jobsfile.Parse(jobsfile.Columns, line+"\n")
	if strings.ContainsAny(line, "\n\r") || len(back) != 1 || back[0].Err != nil || back[0].Identity() != e.Identity() {
		return cli.Usagef("%q can't be a line of such a file", line)
	}
	number, err := appendLine(c.File, line)
	if err != nil {
		return cli.Usagef("%v", err)
	}
	a.Out.Printf("line %d of %s: %s\n", number, term.Clean(c.File), term.Clean(line))
	if path, err := absolute(a, c.File); err == nil && !isRead(a, path) {
		a.Note("nothing reads %s now: 'gpusched watch %s' reads it until it is stopped, 'gpusched import %s' once", c.File, c.File, c.File)
	}
	return nil
}

// appendLine appends a line to a file and returns the line's number. It creates the file if needed.
// Concurrent calls wait for each other.
func appendLine(name, line string) (int, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o666)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return 0, errors.Join(err, errors.New(filepath.Base(name)+" is not a file of lines"))
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return 0, err
	}
	number, open, err := countLines(f)
	if err != nil {
		return 0, err
	}
	if open { // the last line has no line end
		line, number = "\n"+line, number+1
	}
	_, err = f.WriteString(line + "\n")
	return number + 1, err
}

// countLines counts the newlines of a text. The second result is true if the text does not end with
// a newline.
func countLines(f io.Reader) (n int, unfinished bool, err error) {
	part := make([]byte, 1<<16)
	for {
		k, err := f.Read(part)
		for _, b := range part[:k] {
			unfinished = b != '\n'
			if !unfinished {
				n++
			}
		}
		if errors.Is(err, io.EOF) {
			return n, unfinished, nil
		}
		if err != nil {
			return 0, false, err
		}
	}
}
