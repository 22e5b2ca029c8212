package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// start carries out what the program was started for, and returns its exit status. Most of what
// is asked needs neither help nor the whole grammar, whose building and whose packages take
// longer than the rest of a short command: that is done here. For the rest there is 'rest': in a
// program that is built plainly the other half of it, and with the tag quick, as the package has
// it, another program.
func start(ctx context.Context, a *app, name string, args []string) int {
	if name == programName {
		if code, done := a.quick(ctx, args); done {
			return code
		}
	}
	return rest(ctx, a, name, args)
}

// programName is the name by which nothing but gpusched is meant, and wholeName the program that
// the package has of what is built without the tag quick.
const (
	programName = "gpusched"
	wholeName   = "gpusched-all"
)

// errWhole is that of a command that finds that it needs the other half, before it has done
// anything.
var errWhole = errors.New("the whole program is needed")

// quick carries out a command line that is one of the usual; done is false, and nothing has
// happened, where it is not.
func (a *app) quick(ctx context.Context, args []string) (code int, done bool) {
	args, err := a.cutOwn(args)
	if err != nil || a.otherEngine(args) {
		return 0, false
	}
	if a.manyHosts(args) {
		return 0, false
	}
	if len(args) > 0 && args[0] == "--version" {
		args = append([]string{"version"}, args[1:]...)
	}
	args = withCommand(args)
	c := usual(args[0])
	if c == nil || !parse(c, args[1:]) {
		return 0, false
	}
	a.words, a.noted = args, map[string]bool{}
	if asksOnce(c) {
		defer time.AfterFunc(patience, a.listen).Stop()
	} else {
		a.listen()
	}
	if err = c.Run(ctx, a); errors.Is(err, errWhole) {
		return 0, false
	}
	return a.flush(a.finish(err)), true
}

// patience is for how long a signal just ends a command that asks once. There is nothing to put
// in order then, and to listen for signals takes a thread and a tenth of a short command's time.
const patience = 50 * time.Millisecond

// asksOnce reports whether a command asks, prints and ends: it starts no program, waits for no job,
// and leaves the terminal as it is.
func asksOnce(c command) bool {
	switch c := c.(type) {
	case *submitCmd:
		return !c.Wait
	case *listCmd:
		return !c.Watch
	case *statusCmd:
		return !c.Watch
	case *gpusCmd:
		return !c.Watch
	case *whyCmd:
		return !c.Watch
	case *showCmd, *historyCmd, *versionCmd, *holdCmd, *releaseCmd, *updateCmd, *cancelCmd:
		return true
	}
	return false
}

// flush prints what is left, and returns the exit status with an error of any write before it.
func (a *app) flush(code int) int {
	if err := a.out.W.Flush(); err != nil && code == 0 {
		code = a.finish(fmt.Errorf("the output could not be written: %w", err))
	}
	a.err.W.Flush()
	return code
}

// command is one that can be carried out.
type command interface {
	Run(context.Context, *app) error
}

// usual returns a command by its word; nil is none of the usual ones.
func usual(word string) command {
	switch word {
	case "submit":
		return &submitCmd{}
	case "run":
		return &runCmd{}
	case "shell":
		return &shellCmd{}
	case "attach":
		return &attachCmd{}
	case "exec":
		return &execCmd{}
	case "list", "ls", "queue":
		return &listCmd{}
	case "show":
		return &showCmd{}
	case "history":
		return &historyCmd{}
	case "why":
		return &whyCmd{}
	case "logs", "log":
		return &logsCmd{}
	case "wait":
		return &waitCmd{}
	case "status":
		return &statusCmd{}
	case "top":
		return &topCmd{}
	case "gpus":
		return &gpusCmd{}
	case "events":
		return &eventsCmd{}
	case "mcp":
		return &mcpCmd{}
	case "version":
		return &versionCmd{}
	}
	return change(word)
}

// change returns a command that changes jobs.
func change(word string) command {
	switch word {
	case "cancel":
		return &cancelCmd{}
	case "hold":
		return &holdCmd{}
	case "release":
		return &releaseCmd{}
	case "suspend":
		return &suspendCmd{}
	case "resume":
		return &resumeCmd{}
	case "requeue":
		return &requeueCmd{}
	case "update":
		return &updateCmd{}
	case "resubmit":
		return &resubmitCmd{}
	}
	return nil
}

// withCommand puts in the command that is meant where none is named: status,
// also before its options.
func withCommand(args []string) []string {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") && !slices.Contains([]string{"-h", "--help", "--help-all"}, args[0]) {
		return append([]string{"status"}, args...)
	}
	return args
}
