package launch

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// devDir contains the device nodes.
const devDir = "/dev"

// nodes gives access to the device nodes; tests replace it.
type nodes struct {
	// open opens a node for reading and writing and closes it again.
	open func(path string) error
	// access asks the kernel whether the node could be opened for reading and writing. The device
	// filter also answers this question (EPERM). The driver is not involved: opening a GPU's node
	// can take seconds, or hang if the GPU is faulty.
	access func(path string) error
	// readable is like access, but only for reading.
	readable func(path string) error
	// list returns the names in a directory.
	list func(dir string) ([]string, error)
}

func systemNodes() nodes {
	return nodes{
		open: func(path string) error {
			fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
			if err == nil {
				unix.Close(fd)
			}
			return err
		},
		access:   func(path string) error { return unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK|unix.W_OK, 0) },
		readable: func(path string) error { return unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK, 0) },
		list: func(dir string) ([]string, error) {
			d, err := os.Open(dir)
			if err != nil {
				return nil, err
			}
			defer d.Close()
			return d.Readdirnames(-1)
		},
	}
}

func node(minor int) string { return devDir + "/nvidia" + strconv.Itoa(minor) }

// minorOf returns the number with which nvidia-modprobe creates the node of a GPU, or of nvidiactl.
func minorOf(node string) string {
	if number := strings.TrimPrefix(node, devDir+"/nvidia"); number != "ctl" {
		return number
	}
	return "255"
}

// prove reports whether the device filter limits the job to its own GPUs, or why the command must
// not begin.
//
//	probe node   another GPU   own GPUs    | filter      with RequireFilter
//	EPERM        closed        open        | active      begins
//	EPERM        open          open        | inactive    fails
//	otherwise    closed        open        | inactive    fails
//	otherwise    open          any         | inactive    fails
//	otherwise    closed        job has none| inactive    begins: nothing to protect
//	any          any           closed      | fails in any case
func (n nodes) prove(s *Spec) (active bool, f *Failure) {
	if f := n.ownReachable(s); f != nil {
		return false, f
	}
	proof := n.open(s.ProbePath)
	foreign := ""
	if proof == unix.EPERM || s.RequireFilter {
		var err error
		if foreign, err = n.foreignNode(s); err != nil {
			return false, &Failure{Step: contract.StepFilter, What: "the device filter can't be proven: " +
				devDir + " is unreadable", Err: err}
		}
	}
	switch {
	case proof != unix.EPERM && s.RequireFilter && (len(s.GPUs) > 0 || foreign != ""):
		return false, notProven(s.ProbePath, proof)
	case foreign != "" && s.RequireFilter:
		return false, &Failure{Step: contract.StepFilter, What: "GPU node " +
			foreign + " is not the job's, and yet the job can open it",
			Next: "the device filter is not complete: an administrator should see 'gpusched health'"}
	}
	return proof == unix.EPERM && foreign == "", nil
}

// notProven explains the answer of the probe node.
func notProven(probe string, proof error) *Failure {
	f := &Failure{Step: contract.StepFilter,
		What: "the kernel's device filter is not active, so GPUs would be open to jobs that do not have them",
		Next: "needs cgroup v2 and a kernel with CONFIG_CGROUP_BPF: an administrator should see 'gpusched health'"}
	switch proof {
	case nil, unix.ENXIO, unix.ENODEV:
		return f
	case unix.ENOENT:
		f.What = "the device filter can't be proven: the node " + strconv.Quote(probe) + " is missing"
		f.Next = "an administrator can make it: systemd-tmpfiles --create gpusched.conf"
	default:
		f.What = "the device filter can't be proven by the node " + strconv.Quote(probe)
		f.Next = "an administrator should see 'gpusched health'"
	}
	f.Err = proof
	return f
}

// ownReachable returns a failure if the job can't use one of its own nodes.
func (n nodes) ownReachable(s *Spec) *Failure {
	if len(s.GPUs) == 0 {
		return nil
	}
	own := []string{devDir + "/nvidiactl"}
	for _, g := range s.GPUs {
		own = append(append(own, node(g.Minor)), g.CapNodes()...)
	}
	for _, path := range own {
		ask, making := n.access, "nvidia-modprobe -c "+minorOf(path)
		if strings.HasPrefix(path, contract.CapPrefix) {
			ask, making = n.readable, "nvidia-modprobe -f, with the slice's file in /proc/driver/nvidia/capabilities"
		}
		err := ask(path)
		if err == nil {
			continue
		}
		f := &Failure{Step: contract.StepFilter, What: "the job can't use its GPU node " + path, Err: err,
			Next: "an administrator should see 'gpusched health'"}
		switch err {
		case unix.EPERM:
			f.What = "the device filter refuses the job its own GPU node " + path
		case unix.ENOENT:
			f.Next = "an administrator can make it: " + making
		case unix.EACCES:
			f.Next = "the node's owner and mode exclude the user: see 'ls -l " + path + "'"
		}
		return f
	}
	return nil
}

// foreignNode returns the first GPU node that does not belong to the job but is open to it.
func (n nodes) foreignNode(s *Spec) (string, error) {
	names, err := n.list(devDir)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		digits, ok := strings.CutPrefix(name, "nvidia")
		minor, err := strconv.ParseUint(digits, 10, 20)
		if !ok || err != nil || slices.ContainsFunc(s.GPUs, func(g contract.GPU) bool { return g.Minor == int(minor) }) {
			continue
		}
		if path := devDir + "/" + name; n.access(path) == nil {
			return path, nil
		}
	}
	return "", nil
}
