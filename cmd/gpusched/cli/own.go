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

// OwnFlag selects the user's own scheduler (gpuschedd --user). It comes before the command.
const OwnFlag = "--user"

// ownSocket returns the socket of the user's own scheduler.
func ownSocket(getenv func(string) string, uid int) string {
	runtime := cmp.Or(getenv("XDG_RUNTIME_DIR"), fmt.Sprintf("/run/user/%d", uid))
	return filepath.Join(runtime, "gpusched", "gpusched.sock")
}

// EnabledSocket exists if systemd should open the socket of the machine's scheduler. It also exists
// while an administrator has stopped the scheduler.
const EnabledSocket = "/etc/systemd/system/sockets.target.wants/gpusched.socket"

// ClientFor returns a client of the scheduler that the environment names, or else of the machine's
// scheduler. The last arguments are paths. If none of them exists, the machine has no scheduler. In
// that case ClientFor returns a client of the user's own scheduler, if that scheduler has a socket.
func ClientFor(getenv func(string) string, uid int, machine ...string) *api.Client {
	own, socket := ownSocket(getenv, uid), getenv(contract.SocketVariable)
	if socket == "" && !slices.ContainsFunc(machine, Exists) && ownerOf(own) == uid {
		socket = own
	}
	return &api.Client{Socket: socket, Own: socket == own}
}

// ownerOf returns the uid of a file's owner, or -1 if there is no such file. It does not follow
// links. The owner matters since XDG_RUNTIME_DIR can belong to another user, whose scheduler would
// learn a job's environment.
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

// CutOwn removes OwnFlag from the front of a command line and selects the user's own scheduler.
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

// AsTyped changes the commands that a text proposes, so that they ask the same scheduler as this
// run: 'gpusched list' becomes 'gpusched --user list'.
//
// It searches the finished text for 'gpusched …' in quotes. Package manual uses the same notation
// to find the commands that it prints in bold type. Placeholders in the texts would do no more, and
// some 120 places would need them. Half of these places don't know how the program was called.
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

// namesScheduler reports whether a proposed command already selects a scheduler: by an option
// before the command, by --on anywhere, or by the name of a Slurm job.
func namesScheduler(command string) bool {
	words := strings.Split(command, " ")
	return words[0] == OwnFlag || words[0] == HostsFlag ||
		slices.ContainsFunc(words, SaysOn) || strings.Contains(command, " "+SlurmPrefix)
}

// OwnConfigDir returns the settings directory of a user's own scheduler.
func (a *App) OwnConfigDir() string {
	return filepath.Join(cmp.Or(a.Getenv("XDG_CONFIG_HOME"), filepath.Join(a.Getenv("HOME"), ".config")), "gpusched")
}

// NotEnforced names the limits that a user's own scheduler can't enforce for a job.
func NotEnforced(j api.Job) string {
	var parts []string
	for _, what := range j.NotEnforced {
		if text := unenforced[what]; text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "; ")
}

// unenforced maps the values of NotEnforced in api.Job to words for people.
var unenforced = map[string]string{
	"devices": "its GPUs (it can open others: a user's systemd has no device filter)",
	"mem":     "its memory limit (a user's systemd here has no memory controller)",
	"cpus":    "its CPU limit (a user's systemd here has no cpu controller)",
	"tasks":   "the number of its processes (a user's systemd here has no pids controller)",
}

// ownLines returns journalctl's arguments that select a job's lines between two times. The job runs
// under a user's own systemd. A zero time sets no bound. The times tell attempts apart, since
// journald accepts a unit's fields only from the machine's systemd.
func ownLines(j api.Job, start, until time.Time) []string {
	argv := sinceArgs(start)
	if !until.IsZero() {
		argv = append(argv, "--until="+Instant(until))
	}
	uid := fmt.Sprintf("_UID=%d", j.UID)
	return append(argv, "SYSLOG_IDENTIFIER="+contract.UserIdentifier(j.ID.String()), uid, "+", "_SYSTEMD_USER_UNIT="+j.Unit, uid)
}

// sinceArgs returns journalctl's argument that leaves out older lines, or nothing for a zero time.
func sinceArgs(t time.Time) []string {
	if t.IsZero() {
		return nil
	}
	return []string{"--since=" + Instant(t)}
}

// Instant formats a time for journalctl.
func Instant(t time.Time) string {
	return fmt.Sprintf("@%d.%06d", t.Unix(), t.Nanosecond()/int(time.Microsecond))
}

// lateTime is the time after the end of an attempt in which the attempt's last lines can arrive.
// The next attempt begins later than that.
const lateTime = 500 * time.Millisecond

// AttemptLines returns journalctl's arguments for one attempt of a job.
func AttemptLines(j api.Job, at api.Attempt) []string {
	since, until := at.PlacedAt, time.Time{}
	if at.Number != j.Attempt && !at.EndedAt.IsZero() {
		until = at.EndedAt.Add(lateTime)
		if at.Number == j.Attempt-1 && j.PlacedAt.After(until) { // a reboot ended the attempt later than recorded
			until = j.PlacedAt
		}
	}
	return ownLines(j, since, until)
}

// setBack is how far the clock may be set back after a submission. If it is set back further, the
// job's earlier lines are missed.
const setBack = 24 * time.Hour

// AllLines returns journalctl's arguments for all attempts of a job. The result can include lines
// of an earlier job with the same number; package attach leaves those out (ownStarts).
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

// UnitLine names the unit of a job. If the user's own systemd runs the unit, it says so.
func UnitLine(j api.Job) string {
	if j.Unit != "" && j.Manager == api.UserManager {
		return j.Unit + " (systemctl --user)"
	}
	return j.Unit
}

// TerminalOf returns the name of a job's terminal.
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
