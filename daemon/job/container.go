package job

import (
	"path"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/units/contract"
)

// These are the bounds of a container.
const (
	maxImageBytes = 4096
	maxMounts     = 64
	maxMountBytes = 4096
	maxImageArgs  = 64
)

// ownImageArgs are options that gpusched itself passes to the engines. With another value, the
// container would leave the job's unit, outlive the job, or not be found at its end. With a terminal
// that it asks for itself, its output would be lost.
var ownImageArgs = []string{
	"cgroup-manager", "cgroup-parent", "cgroupns", "cgroups", "cidfile", "conmon-pidfile", "d", "detach", "gpus", "init-path",
	"log-driver", "name", "pidfile", "pull", "replace", "restart", "rm", "sdnotify", "t", "tty",
}

// checkContainer checks the form of a job's container. Only the job's user can find out whether the
// image exists.
func (y *Payload) checkContainer(p *Problems) {
	c := &y.Container
	if c.IsZero() {
		if c.Image != "" || len(c.Mounts)+len(c.Args) > 0 {
			p.add("usage/engine", "")
		}
		return
	}
	if !slices.Contains(contract.Engines(), c.Engine) {
		p.add("usage/engine", string(c.Engine))
	}
	if c.Image == "" || c.Image[0] == '-' || len(c.Image) > maxImageBytes || !Printable(c.Image) {
		p.add("usage/image", maxImageBytes)
	}
	if len(c.Mounts) > maxMounts || slices.ContainsFunc(c.Mounts, isWrongMount) {
		p.add("usage/mount", maxMounts, maxMountBytes)
	}
	checkImageArgs(c.Args, p)
	const plain = "abcdefghijklmnopqrstuvwxyz0123456789-"
	isDriver := len(c.Driver) <= MaxNameBytes && strings.Trim(c.Driver, plain) == ""
	if c.Store != "" && !isMountPath(c.Store) || !isDriver {
		p.add("usage/image-store")
	}
	if s := &y.Setup; s.Conda != "" || s.Venv != "" || s.Command != "" || len(s.Modules) > 0 {
		p.add("usage/image-setup")
	}
	if y.EnvMode != contract.EnvClean {
		p.add("usage/image-env")
	}
}

func checkImageArgs(args []string, p *Problems) {
	if len(args) > maxImageArgs {
		p.add("usage/image-args", maxImageArgs)
		return
	}
	ownIPC := slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(strings.TrimLeft(arg, "-"), "ipc") })
	for _, arg := range args {
		option, _, _ := strings.Cut(arg, "=")
		isOption := len(arg) > 1 && arg[0] == '-' && arg != "--" && !strings.ContainsAny(option, " \t\n")
		if !isOption || len(arg) > MaxArgBytes || strings.IndexByte(arg, 0) >= 0 {
			p.add("usage/image-arg", strings.ToValidUTF8(arg[:min(len(arg), MaxNameBytes)], ""))
			return
		}
		name := strings.TrimLeft(option, "-")
		if arg[1] != '-' { // such as -itd, or -idv=/data:/data
			letters := name[:len(name)-len(strings.TrimLeft(name, "diPqt"))] // these take no value
			if at := strings.IndexAny(letters, "dt"); at >= 0 {
				name, option = name[at:at+1], "-"+name[at:at+1]
			}
		}
		if name == "shm-size" && !ownIPC {
			p.add("usage/image-arg-shm")
			return
		}
		if slices.Contains(ownImageArgs, name) {
			p.add("usage/image-arg-own", option)
			return
		}
	}
}

func isWrongMount(m contract.Mount) bool {
	return !isMountPath(m.Source) || !isMountPath(m.Target) || m.Target == "/"
}

// isMountPath reports whether a path can be passed to each engine. Engines divide the description
// of a mount at commas and colons, and interpret quotation marks and backslashes.
func isMountPath(s string) bool {
	return path.IsAbs(s) && path.Clean(s) == s && len(s) <= maxMountBytes && Printable(s) &&
		!strings.ContainsAny(s, "\",:\\")
}
