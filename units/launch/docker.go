package launch

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// A container of Docker is not a child of this process but of a daemon that runs as root. So the
// command line names what other processes get from their unit: ids, limits, devices and the slice.
// The job's slice then limits and ends the container, as the unit does for every other process.

// A dockerBox is what only a container of Docker needs.
type dockerBox struct {
	socket string   // of Docker's daemon
	slice  string   // the job's own, "" if this process is in none
	nodes  []string // device nodes of the job's GPUs and of the driver
	limits []contract.Limit
	tasks  string // the most processes and threads of the job; "" if there is no limit
	ids    ids
}

// isStopped reports whether nobody listens on a socket, as while the package of Docker is upgraded.
func isStopped(socket string) bool {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	err = unix.Connect(fd, &unix.SockaddrUnix{Name: socket})
	return err == unix.ENOENT || err == unix.ECONNREFUSED
}

// ids are the user and the groups of this process.
type ids struct {
	uid, gid int
	groups   []int
}

func ownIDs() ids {
	groups, _ := unix.Getgroups()
	return ids{os.Geteuid(), os.Getegid(), groups}
}

func newDockerBox(s *Spec, a *surroundings) (d dockerBox) {
	d.socket, d.ids = dockerSocket, a.ids
	d.limits, d.tasks = s.SoftLimits, a.tasks
	if slice := path.Base(path.Dir(a.group)); strings.HasSuffix(slice, "-j"+strconv.FormatInt(s.JobID, 10)+".slice") {
		d.slice = slice
	}
	if len(s.GPUs) == 0 {
		return d
	}
	for _, name := range []string{"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"} {
		d.nodes = append(d.nodes, devDir+"/"+name)
	}
	for _, g := range s.GPUs {
		d.nodes = append(append(d.nodes, node(g.Minor)), g.CapNodes()...)
	}
	d.nodes = slices.DeleteFunc(d.nodes, func(path string) bool { return a.exists == nil || !a.exists(path) })
	return d
}

// dockerSocket is where the daemon of Docker listens, or systemd until the daemon has started.
const dockerSocket = "/var/run/docker.sock"

// dockerCommand returns a command of Docker. It names the socket, because a context of the user may
// choose the daemon of another machine.
func (b *box) dockerCommand(words ...string) []string {
	return append([]string{"docker", "--host=unix://" + dockerSocket}, words...)
}

// dockerRun returns the command that starts the container, and its environment.
func (b *box) dockerRun() (argv, env []string) {
	argv = b.dockerCommand("run", "--pull=never", "--rm", "--init", "--name="+b.name, "--cgroup-parent="+b.docker.slice,
		"--network=host", "--ipc=host", "--security-opt=label=disable", "--log-driver=none",
		fmt.Sprintf("--user=%d:%d", b.docker.ids.uid, b.docker.ids.gid), "--workdir="+b.dir)
	for _, gid := range b.docker.ids.groups {
		if gid != b.docker.ids.gid {
			argv = append(argv, "--group-add="+strconv.Itoa(gid))
		}
	}
	if b.tty {
		argv = append(argv, "--interactive", "--tty")
	}
	if b.docker.tasks != "" { // a drop-in for all slices replaces the limit of the job's slice
		argv = append(argv, "--pids-limit="+b.docker.tasks)
	}
	for _, l := range b.docker.limits {
		if name := dockerLimit(l.Name); name != "" {
			argv = append(argv, "--ulimit="+name+"="+limitWord(l.Soft)+":"+limitWord(l.Hard))
		}
	}
	if b.CDI && b.named {
		for _, gpu := range b.devices() {
			argv = append(argv, "--device="+gpu)
		}
	} else {
		for _, node := range b.docker.nodes {
			argv = append(argv, "--device="+node)
		}
	}
	argv = append(argv, b.mountOptions()...)
	options, env := b.variableOptions()
	return slices.Concat(argv, options, b.ownOptions(), []string{b.Image}, b.argv), env
}

// dockerLimit returns Docker's name of a limit, or "" if the container does not get that limit. It
// gets neither the limit of address space, which Docker does not know, nor that of processes, which
// would count all processes of the user.
func dockerLimit(name string) string {
	switch name {
	case "CORE", "CPU", "DATA", "FSIZE", "MEMLOCK", "NOFILE", "STACK":
		return strings.ToLower(name)
	}
	return ""
}

func limitWord(n uint64) string {
	if n == ^uint64(0) {
		return "-1"
	}
	return strconv.FormatUint(n, 10)
}

// prepareDocker finds out whether the container can be started in the job's slice, and pulls the
// image if it is not there. If Docker's driver of control groups were not systemd, Docker would
// ignore the slice without a word, and the container would be in no job.
func (b *box) prepareDocker(run runner) *Failure {
	f := &Failure{Step: contract.StepContainer, What: "Docker can't keep its container in the job",
		Next: "an administrator should see CONTAINERS in gpusched-admin(7)", Err: unix.ENOTSUP}
	if b.docker.slice == "" {
		f.What += ": the job has no slice"
		return f
	}
	var status int
	var answer string
	for range 2 { // a stopped Docker may be back before isStopped looks
		var err error
		status, answer, err = b.askDocker(run)
		switch {
		case err != nil:
			return &Failure{Step: contract.StepContainer, What: "Docker, which runs its container, does not work here", Err: err,
				Next: "'gpusched doctor' tells what Docker needs; try 'docker info'"}
		case answer == wantedAnswer:
			return b.pullWithDocker(run)
		case isStopped(b.docker.socket): // Docker 26 exits with 0 even then
			return dockerStopped()
		}
	}
	if _, version, _ := strings.Cut(answer, " "); status != 0 || len(version) != 1 {
		return &Failure{Step: contract.StepContainer, What: "Docker, which runs its container, did not answer",
			Err:  errors.New(answer),
			Next: "try 'docker info'"}
	}
	f.What += ": its control groups are '" + answer + "', not '" + wantedAnswer + "'"
	return f
}

// wantedAnswer is the answer to askDocker of a Docker that can keep a container in a job's slice.
const wantedAnswer = "systemd 2"

// askDocker returns Docker's driver and version of control groups, or an error message of Docker.
func (b *box) askDocker(run runner) (status int, answer string, err error) {
	status, printed, err := run(b.dockerCommand("info", "--format={{.CgroupDriver}} {{.CgroupVersion}}"), b.outside, true)
	return status, lastLine(printed, status), err
}

func (b *box) pullWithDocker(run runner) *Failure {
	status, _, err := run(b.dockerCommand("image", "inspect", "--format={{.Id}}", b.Image), b.outside, true)
	if err == nil && status == 0 {
		return nil
	}
	f := b.pull(run, b.dockerCommand("pull", b.Image), b.outside)
	if f != nil && isStopped(b.docker.socket) {
		return dockerStopped()
	}
	return f
}

func dockerStopped() *Failure {
	return &Failure{Step: contract.StepEngine, What: "the daemon of Docker, which runs its container, is stopped", Next: triedAgain}
}
