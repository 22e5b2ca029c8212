package editor

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/cmd/gpusched/attach"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/submit"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

const (
	usualName = "ide"
	usualIdle = 30 * time.Minute
)

// stayTime is how long a queued job stays in the queue after its last waiting proxy has lost its
// client. An editor that gave up and tries again then finds its place in the queue.
const stayTime = time.Minute

// holder describes the job that is queued if there is none to enter.
type holder struct {
	submit.JobOptions

	Idle time.Duration `name:"idle" type:"span" placeholder:"TIME" group:"self"`
}

// ProxyCmd connects its standard input and output to an sshd inside a job.
type ProxyCmd struct{ holder }

func (*ProxyCmd) About() cli.About {
	return cli.About{
		Host: cli.OnlyHere, Hosts: cli.OneAtATime, Slurm: notForSlurm, Habits: manual.OptionsOfNewJobs,
		Options: usedOptions, Examples: []string{"ssh -o ProxyCommand='gpusched proxy -g 1' localhost"},
	}
}

// usedOptions lists the options in the help of ssh-config and of proxy.
const usedOptions = "name gpus gpu-mem mem time conda idle"

var notForSlurm = cli.NotForSlurm("ssh enters only jobs of this machine's own scheduler",
	"'gpusched --on slurm exec ID' runs a command in a job")

func (c *ProxyCmd) Run(ctx context.Context, a *cli.App) error {
	if len(c.Command) > 0 {
		return cli.Refuse(api.CodeUsage, "to run a command in a job, use 'gpusched exec'",
			"'gpusched proxy' takes no command: the job waits for connections")
	}
	if err := c.complete(a, usualName, "name that machine in the ProxyCommand on your computer", thenContainers); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := ready(ctx, a); err != nil {
		return err
	}
	j, err := c.untilRunning(ctx, a, self)
	if err != nil {
		return err
	}
	status, err := attach.Enter(ctx, a, j, []string{self, ServeCommand})
	if err != nil || status == 0 {
		return err
	}
	return cli.ExitStatus(status)
}

// thenContainers says how those who enter a job by ssh use containers.
const thenContainers = "run containers in the job once you are there, such as with 'apptainer exec --nv'"

// complete fills in the defaults, and refuses what makes no sense for the job that is queued. The
// last two arguments are advice: how to get a job of another machine, and how to get a job in a
// container.
func (c *holder) complete(a *cli.App, name, there, inImage string) error {
	c.Label.Name, c.Idle = cmp.Or(c.Label.Name, name), cmp.Or(c.Idle, usualIdle)
	switch {
	case c.Host != "" || a.Host != "":
		return cli.Refuse(api.CodeUsage, there, "ssh enters only jobs of the machine that it connects to")
	case c.Screen:
		return cli.Refuse(api.CodeUsage, "type 'screen' after you have connected",
			"--screen makes no sense here: the job has no terminal")
	case c.Snapshot != nil:
		return cli.Refuse(api.CodeUsage, "leave it out", "--snapshot makes no sense here: what you edit in the job would be in the copy alone")
	case c.IsContainer():
		return cli.Refuse(api.CodeUsage, inImage, "--image makes no sense here: gpusched's own program in the job is not in the image")
	}
	return nil
}

// tries is the number of times that a job is looked for. A job that was found may end, or be given
// up by another proxy, before this proxy waits for it.
const tries = 5

// untilRunning returns the user's running job of this name. If there is none, it queues one and
// waits for it.
func (c *holder) untilRunning(ctx context.Context, a *cli.App, self string) (api.Job, error) {
	var j api.Job
	for range tries {
		found, latest, err := c.find(ctx, a)
		if found.ContainerEngine != "" {
			name := cli.NameOfJob(found)
			return j, cli.Refuse(api.CodeConflict, "'gpusched exec "+name+" -- bash' opens a shell in it; --name names another job",
				"job %s runs in a container, which ssh can't enter", name)
		}
		if err == nil && found.ID == 0 {
			found, err = c.Queue(ctx, a, requestKey("proxy", c.Label.Name, latest), []string{self, HoldCommand, c.Idle.String()}, nil)
		}
		if err != nil {
			return j, cli.WaitError(ctx, err)
		}
		w := wait{a: a, job: found}
		if j, err = w.run(ctx); err != nil || j.State == job.Running {
			return j, err
		}
		if w.waited {
			break
		}
	}
	return j, ended(a, j)
}

func ended(a *cli.App, j api.Job) error {
	name := cli.NameOfJob(j)
	return cli.Refuse(api.CodeConflict, "try again for a new one; what it printed is in 'gpusched logs "+name+"'",
		"job %s has ended: %s", name, a.ResultOf(j))
}

// find returns the user's job of this name that has started or, if none has, the one that will
// start first. If there is no such job, the ID of the result is 0. The second result is the newest
// job of this name, ended or not.
func (c *holder) find(ctx context.Context, a *cli.App) (found api.Job, latest job.ID, err error) {
	list, err := api.List(ctx, a.Client, api.ListQuery{UID: &a.UID, Name: c.Label.Name, Ended: 1})
	order := []job.State{job.Running, job.Starting, job.Queued}
	for _, j := range list.Jobs {
		latest = max(latest, j.ID)
		at, best := slices.Index(order, j.State), slices.Index(order, found.State)
		if at < 0 || j.Array != nil || j.StopRequested != "" {
			continue
		}
		if found.ID == 0 || at < best {
			found = j
		}
	}
	return found, latest, err
}

// requestKey returns the key for the next job of this name that a command queues. Proxies that
// start at the same time use the same key, so they queue one job (invariant 3).
func requestKey(command, name string, latest job.ID) string {
	hash := sha256.Sum256([]byte(name))
	return fmt.Sprintf("%s-%x-%d", command, hash[:16], latest)
}

// A wait is the time until a job runs. The lock shows other proxies that somebody waits.
type wait struct {
	a      *cli.App
	job    api.Job
	waited bool // the job was seen waiting
	lock   *os.File
}

// errGone means that the client has left while the job waited.
var errGone = errors.New("the ssh that waited for this job is gone")

// run returns the job once it runs or has ended.
func (w *wait) run(ctx context.Context) (api.Job, error) {
	if w.job.State == job.Running {
		return w.job, nil
	}
	w.open()
	defer w.lock.Close() // does nothing if the file is nil
	now, err := api.Show(ctx, w.a.Client, w.job.ID.String(), api.JobQuery{})
	if err != nil {
		return w.job, cli.WaitError(ctx, err)
	}
	if now.Job.State.Terminal() {
		return now.Job, nil
	}
	w.waited = true
	waiting, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	hangUp := make(chan os.Signal, 1)
	signal.Notify(hangUp, syscall.SIGHUP, syscall.SIGTERM)
	defer signal.Stop(hangUp)
	go func() {
		untilHangUp(waiting, hangUp)
		leave(errGone)
	}()
	j, err := attach.Await(waiting, w.a, now.Job)
	if waiting.Err() == nil {
		_ = w.remove()
		return j, err
	}
	w.giveUp(context.WithoutCancel(ctx), errors.Is(context.Cause(waiting), errGone), hangUp)
	return j, cli.ExitStatus(cli.StatusInterrupted)
}

// untilHangUp returns when the other end of standard input is gone, at a signal, or when ctx is
// done. It reads nothing.
func untilHangUp(ctx context.Context, signals <-chan os.Signal) {
	for fds := []unix.PollFd{{Fd: 0, Events: unix.POLLRDHUP}}; ; {
		_, _ = unix.Poll(fds, 0)
		if fds[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-signals:
			return
		case <-time.After(time.Second / 5):
		}
	}
}

// open locks the file that shows that somebody waits for the job. Without the file, a proxy that
// stops waiting does not cancel the job. The job then ends by itself soon after its start.
func (w *wait) open() {
	machine, _ := os.Hostname() // several machines may share the directory
	dir := filepath.Join(jobenv.StateDir(w.a), "proxy")
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	path := filepath.Join(dir, machine+"-"+w.job.ID.String())
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err == nil && flock(f, syscall.LOCK_SH) == nil {
		w.lock = f
		return
	}
	f.Close()
}

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); err != syscall.EINTR {
			return err
		}
	}
}

func (w *wait) remove() error {
	if w.lock == nil {
		return nil
	}
	return os.Remove(w.lock.Name())
}

// giveUp cancels the job that this package has queued, unless another proxy waits for it
// (invariant 4). If the client is gone, it may come back within stayTime.
func (w *wait) giveUp(ctx context.Context, gone bool, signals <-chan os.Signal) {
	if w.lock == nil || flock(w.lock, syscall.LOCK_UN) != nil {
		return
	}
	if gone {
		for _, f := range []*os.File{os.Stdin, os.Stdout} {
			f.Close()
		}
		for end := time.After(stayTime); end != nil; {
			select {
			case <-signals:
			case <-end:
				end = nil
			}
		}
	}
	if flock(w.lock, syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return
	}
	reply, err := api.Show(ctx, w.a.Client, w.job.ID.String(), api.JobQuery{})
	if err != nil || reply.Job.State != job.Queued || reply.Job.Private == nil {
		return
	}
	if argv := reply.Job.Private.Argv; len(argv) != 3 || argv[1] != HoldCommand {
		return
	}
	if _, err := api.ActOnJob(ctx, w.a.Client, api.RouteCancel, w.job.ID.String(), api.CancelRequest{}); err == nil {
		_ = w.remove()
	}
}
