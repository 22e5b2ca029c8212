package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/doctor/bugreport"
	"github.com/gpusched/gpusched/cmd/gpusched/doctor/installation"
	"github.com/gpusched/gpusched/cmd/gpusched/logs"
	"github.com/gpusched/gpusched/cmd/gpusched/look"
	"github.com/gpusched/gpusched/cmd/gpusched/site"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
)

// logLines is the number of lines of the daemon's log in a bug report.
const logLines = 200

// A bugReport is a bug report that is being written.
type bugReport struct {
	a    *cli.App
	mask *bugreport.Masker
	text bytes.Buffer
}

// report writes a bug report to the output, or into a new file that only its owner can read.
func report(ctx context.Context, a *cli.App, file string) error {
	text := newBugReport(ctx, a)
	if file == "" {
		_, err := a.Out.W.Write(text)
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return cli.Refuse(api.CodeUsage, "name another file", "%q already exists, and a report overwrites nothing", file)
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	_, err = f.Write(text)
	if err := cmp.Or(err, f.Close()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	a.Out.Printf("%s: read it before you send it; names and paths of people are masked\n", term.Clean(file))
	return nil
}

func newBugReport(ctx context.Context, a *cli.App) []byte {
	host, _ := os.Hostname()
	r := &bugReport{a: a, mask: bugreport.New(host, account(a, a.UID))}
	jobs, err := api.List(ctx, a.Client, api.ListQuery{Ended: cli.MostEnded})
	gpus, _ := api.GPUs(ctx, a.Client)
	r.learn(jobs, gpus)
	r.versions(ctx)
	r.settings()
	checks := look.WorstFirst(append(installation.Check(ctx, a.Daemon(), cli.Version, a.Root), checkEngines(ctx, a)...))
	r.title("Health, and what doctor finds")
	for _, c := range checks {
		r.line("%-8s  %s: %s", c.Health, c.Name, c.Detail)
	}
	r.addGPUs(gpus)
	r.jobs(jobs, err)
	r.addLog(ctx)
	return r.text.Bytes()
}

// learn tells the masker the names that it must hide.
func (r *bugReport) learn(jobs api.ListReply, gpus api.GPUsReply) {
	for _, j := range jobs.Jobs {
		r.mask.User(j.User)
		r.mask.User(j.HeldBy)
		r.mask.User(j.SuspendedBy)
	}
	for _, g := range gpus.GPUs {
		r.mask.User(g.PausedBy)
		for _, p := range g.Processes {
			r.mask.User(p.User)
		}
	}
	for name := range people(r.a.Root) {
		r.mask.User(name)
	}
	for _, r2 := range gpus.Reservations {
		for _, name := range r2.Users {
			r.mask.User(name)
		}
		for _, name := range r2.Groups {
			r.mask.Group(name)
		}
	}
}

// account returns the name of a uid in /etc/passwd, or "".
func account(a *cli.App, uid int) string {
	for name, n := range passwd(a.Root) {
		if n == uid {
			return name
		}
	}
	return ""
}

// people returns the accounts in /etc/passwd without the system accounts.
func people(root string) map[string]int {
	list := passwd(root)
	maps.DeleteFunc(list, func(_ string, uid int) bool { return uid <= logs.LastSystemUID })
	return list
}

// passwd returns the uids of the accounts in /etc/passwd.
func passwd(root string) map[string]int {
	list := map[string]int{}
	data, _ := os.ReadFile(root + "/etc/passwd")
	for line := range strings.Lines(string(data)) {
		parts := strings.Split(line, ":")
		if len(parts) < 3 {
			continue
		}
		if uid, err := strconv.Atoi(parts[2]); err == nil {
			list[parts[0]] = uid
		}
	}
	return list
}

func (r *bugReport) title(text string) { fmt.Fprintf(&r.text, "\n## %s\n\n", text) }

// line adds a line and masks its text.
func (r *bugReport) line(format string, args ...any) {
	fmt.Fprintf(&r.text, "%s\n", term.Clean(r.mask.Text(fmt.Sprintf(format, args...))))
}

func (r *bugReport) versions(ctx context.Context) {
	r.text.WriteString("# gpusched: report of 'gpusched doctor --report'\n")
	r.title("Versions")
	r.line("client: %s", programText(api.VersionReply{Version: cli.Version, Commit: cli.Commit, Go: runtime.Version()}))
	if v, err := api.Version(ctx, r.a.Client); err != nil {
		r.line("scheduler: no answer: %v", err)
	} else {
		r.line("scheduler: %s", programText(v))
	}
	if r.a.Daemon().Own {
		r.line("it is the user's own scheduler")
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		r.line("kernel: %s %s", unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Machine[:]))
	}
	r.line("distribution: %s", distribution(r.a.Root))
	if st, err := api.Status(ctx, r.a.Client); err == nil {
		r.line("started: %s; jobs: %s", r.a.Out.Clock(st.StartedAt), cmp.Or(api.CountLine(st.Counts), "none"))
	}
}

// programText formats a program's version. It shortens the commit, which would look like a token.
func programText(v api.VersionReply) string {
	return strings.TrimSpace(fmt.Sprintf("%s %.12s %s", v.Version, v.Commit, v.Go))
}

func distribution(root string) string {
	data, _ := os.ReadFile(root + "/etc/os-release")
	for line := range strings.Lines(string(data)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			return strings.Trim(name, `"`)
		}
	}
	return "unknown"
}

func (r *bugReport) settings() {
	r.title("Settings that are not the default")
	cfg, origins, _, err := site.ConfigFiles{}.Read(r.a)
	if err != nil {
		r.line("can't be read: %v", err)
		return
	}
	kept, defaults := r.mask.Settings(config.Show(cfg, origins))
	for _, line := range kept {
		fmt.Fprintf(&r.text, "%s\n", term.Clean(line))
	}
	r.line("(%d more have their default)", defaults)
}

// addGPUs adds the GPUs. It leaves out their UUIDs and the names of processes.
func (r *bugReport) addGPUs(reply api.GPUsReply) {
	r.title("GPUs")
	r.line("driver %s, CUDA %s %s %s", cmp.Or(reply.Driver, "unknown"), cmp.Or(reply.CUDA, "unknown"), reply.Problem, reply.ProblemDetail)
	for _, g := range reply.GPUs {
		paused := ""
		if g.Paused {
			paused = ", paused"
		}
		r.line("%d: %s, %s%s%s, minor %d, %s of %s in use, %d %% busy, %s, %s", g.Index, g.Name, g.State, cli.Colon(g.StateDetail), paused,
			g.Minor, job.FormatSize(int64(g.MemUsedBytes)), job.FormatSize(int64(g.MemTotalBytes)), g.UtilPercent,
			cli.Count(len(g.Jobs), "job"), cli.Count(len(g.Processes), "process"))
	}
}

func (r *bugReport) jobs(reply api.ListReply, err error) {
	r.title("Jobs by state")
	if err != nil {
		r.line("the scheduler does not answer: %v", err)
		return
	}
	states := map[job.State]int{}
	for _, j := range reply.Jobs {
		states[j.State]++
	}
	for _, state := range slices.Sorted(maps.Keys(states)) {
		r.line("%s: %d", state, states[state])
	}
	r.line("(of ended jobs, at most the last %d)", cli.MostEnded)
}

// addLog adds the end of the daemon's log, if this user may read it.
func (r *bugReport) addLog(ctx context.Context) {
	r.title(fmt.Sprintf("The end of the scheduler's log, at most %d lines", logLines))
	args := []string{"--no-pager", "--quiet", "--no-hostname", "--output=short-iso", "--lines=" + strconv.Itoa(logLines)}
	unit := []string{"--unit=gpusched.service"}
	if r.a.Daemon().Own {
		unit = []string{"--user", "--user-unit=gpusched.service"}
	}
	out, err := exec.CommandContext(ctx, "journalctl", append(args, unit...)...).Output()
	if len(bytes.TrimSpace(out)) == 0 {
		r.line("this user can't read it (%v): root and the members of systemd-journal and adm can", cmp.Or(err, errors.New("no line")))
		return
	}
	for line := range strings.Lines(string(out)) {
		fmt.Fprintf(&r.text, "%s\n", term.Clean(r.mask.Log(strings.TrimRight(line, "\n"))))
	}
}
