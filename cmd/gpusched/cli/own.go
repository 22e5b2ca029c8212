package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/contract"
)

// OwnFlag, before the command, asks the user's own scheduler (gpuschedd --user).
const OwnFlag = "--user"

// ownSocket is where a user's own scheduler listens.
func ownSocket(getenv func(string) string, uid int) string {
	runtime := cmp.Or(getenv("XDG_RUNTIME_DIR"), fmt.Sprintf("/run/user/%d", uid))
	return filepath.Join(runtime, "gpusched", "gpusched.sock")
}

// EnabledSocket is there where systemd is to open the socket of the machine's scheduler,
// also while an administrator has stopped it.
const EnabledSocket = "/etc/systemd/system/sockets.target.wants/gpusched.socket"

// ClientFor asks the scheduler that the environment names, or else that of the machine.
// Where there is none, as none of these paths is there, and the user has one, that is the only
// one that can be meant.
func ClientFor(getenv func(string) string, uid int, machine ...string) *api.Client {
	own, socket := ownSocket(getenv, uid), getenv(contract.SocketVariable)
	if socket == "" && !slices.ContainsFunc(machine, Exists) && ownerOf(own) == uid {
		socket = own
	}
	return &api.Client{Socket: socket, Own: socket == own}
}

// ownerOf is whose a file is, -1 where it is not there. A link is its own: XDG_RUNTIME_DIR can be
// another user's, whose scheduler would be told the environment of a job.
func ownerOf(path string) int {
	info, err := os.Lstat(path)
	if err != nil {
		return -1
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1
	}
	return int(st.Uid)
}

// CutOwn takes from the front of a command line what says which scheduler is asked.
func (a *App) CutOwn(args []string) ([]string, error) {
	if len(args) == 0 {
		return args, nil
	}
	if args[0] != OwnFlag {
		return a.cutOn(args)
	}
	socket := ownSocket(a.Getenv, a.UID)
	if owner := ownerOf(socket); owner >= 0 && owner != a.UID {
		return nil, Usagef("%s belongs to uid %d, not to you: nothing was sent there (XDG_RUNTIME_DIR is another user's)", socket, owner)
	}
	a.Own = true
	a.Client = &api.Client{Socket: socket, Own: true}
	return args[1:], NotOn(OwnFlag, args[1:])
}

// AsTyped makes the commands that a text proposes ask the same scheduler as this one: 'gpusched list'
// becomes 'gpusched --user list'.
//
// It goes by the notation 'gpusched …' in quotes, as the manual's bold type does, and edits finished
// text. Marks that are replaced when a sentence is made would do the same in some 120 places that
// name a command, half of them in parts of the program that do not know how it was called.
func (a *App) AsTyped(text string) string {
	flag := ""
	switch {
	case a.Called() != "":
		flag = HostsFlag + " " + a.Called()
	case a.On != "":
		flag = OnFlag + " " + a.On
	case a.Own:
		flag = OwnFlag
	default:
		return text
	}
	const begins = "'gpusched "
	parts := strings.Split(text, begins)
	for i, part := range parts[1:] {
		if command, _, _ := strings.Cut(part, "'"); !namesScheduler(command) {
			parts[i+1] = flag + " " + part
		}
	}
	return strings.Join(parts, begins)
}

// namesScheduler reports whether a proposed command says itself which scheduler it asks: by an option
// in front, or by the name of a job of Slurm.
func namesScheduler(command string) bool {
	first, _, _ := strings.Cut(command, " ")
	return slices.Contains([]string{OwnFlag, HostsFlag, OnFlag}, first) || strings.Contains(command, " "+SlurmPrefix)
}

// OwnConfigDir is where a user's own scheduler has its settings.
func (a *App) OwnConfigDir() string {
	return filepath.Join(cmp.Or(a.Getenv("XDG_CONFIG_HOME"), filepath.Join(a.Getenv("HOME"), ".config")), "gpusched")
}

// NotEnforced says what nothing holds a job of a user's own scheduler to.
func NotEnforced(j api.Job) string {
	var parts []string
	for _, what := range j.NotEnforced {
		if text := unenforced[what]; text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "; ")
}

// unenforced are the words of api.Job's NotEnforced.
var unenforced = map[string]string{
	"devices": "its GPUs (it can open others: a user's systemd has no device filter)",
	"mem":     "its memory limit (a user's systemd here has no memory controller)",
	"cpus":    "its CPU limit (a user's systemd here has no cpu controller)",
	"tasks":   "the number of its processes (a user's systemd here has no pids controller)",
}

// ownLines selects the lines of a job of a user's own systemd, from one time to
// another; a zero one is no bound. journald takes the fields of a unit from the machine's
// systemd alone, so a run is found by its times.
func ownLines(j api.Job, since, until time.Time) []string {
	argv := sinceArgs(since)
	if !until.IsZero() {
		argv = append(argv, "--until="+Instant(until))
	}
	uid := fmt.Sprintf("_UID=%d", j.UID)
	return append(argv, "SYSLOG_IDENTIFIER="+contract.UserIdentifier(j.ID.String()), uid, "+", "_SYSTEMD_USER_UNIT="+j.Unit, uid)
}

// sinceArgs leaves out what is older; a zero time is no bound.
func sinceArgs(t time.Time) []string {
	if t.IsZero() {
		return nil
	}
	return []string{"--since=" + Instant(t)}
}

// Instant is a time as journalctl reads it.
func Instant(t time.Time) string {
	return fmt.Sprintf("@%d.%06d", t.Unix(), t.Nanosecond()/int(time.Microsecond))
}

// lagging is for how long after the end of a run lines of it may come. The next one
// begins later.
const lagging = 500 * time.Millisecond

// AttemptLines selects those of one run.
func AttemptLines(j api.Job, at api.Attempt) []string {
	since, until := at.PlacedAt, time.Time{}
	if at.Number != j.Attempt && !at.EndedAt.IsZero() {
		until = at.EndedAt.Add(lagging)
		if at.Number == j.Attempt-1 && j.PlacedAt.After(until) { // one that a reboot took ran on for longer than is known
			until = j.PlacedAt
		}
	}
	return ownLines(j, since, until)
}

// setBack bounds how far the clock can be set back after a submission without lines of the job being missed.
const setBack = 24 * time.Hour

// AllLines selects those of all runs of a job. Among them can be some of an earlier job of the same number, which
// ownStarts tells.
func AllLines(j api.Job) []string {
	if j.Manager == api.UserManager {
		return ownLines(j, j.SubmittedAt, time.Time{})
	}
	var since time.Time
	if !j.SubmittedAt.IsZero() {
		since = j.SubmittedAt.Add(-setBack)
	}
	return append(sinceArgs(since), "_SYSTEMD_UNIT="+j.ID.Unit())
}

// UnitLine names the unit of a job, and the systemd that has it.
func UnitLine(j api.Job) string {
	if j.Unit != "" && j.Manager == api.UserManager {
		return j.Unit + " (systemctl --user)"
	}
	return j.Unit
}

// TerminalOf names the terminal of a job.
func TerminalOf(j api.Job) string {
	if j.Manager == api.UserManager {
		return contract.UserTerminal(j.ID.String())
	}
	return j.ID.String()
}

func Exists(pattern string) bool {
	found, _ := filepath.Glob(pattern)
	return len(found) > 0
}
