package launch

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The ports for jobs are below those that the kernel gives to whoever asks for any
// (32768 on, unless the site says otherwise). Each job has one in each part; jobs
// whose numbers are less than portsInPart apart have different ones.
const (
	firstPort   = 20000
	portsInPart = 2500
	parts       = 4
)

// portsOf lists the ports that a job tries, in order.
func portsOf(id int64) []int {
	list := make([]int, parts)
	for i := range list {
		list[i] = firstPort + i*portsInPart + int(id%portsInPart)
	}
	return list
}

// rendezvous gives the processes of the job a place to meet that no other job on the
// machine has: frameworks take MASTER_ADDR and MASTER_PORT, and torchrun, whose own
// default is one port for all, PET_MASTER_PORT. What the submitter set stays, unless
// that is the port of the job in which the submitter was.
func (e *environment) rendezvous(s *Spec, free func(port int) bool) {
	const port, torchrun = "MASTER_PORT", "PET_MASTER_PORT"
	if outer, err := strconv.ParseInt(valueOf(s.Env, "GPUSCHED_JOB_ID"), 10, 64); err == nil && outer > 0 {
		for _, name := range []string{port, torchrun} {
			if n, err := strconv.Atoi(e.get(name)); err == nil && slices.Contains(portsOf(outer), n) {
				e.unset(name)
			}
		}
	}
	e.orSet("MASTER_ADDR", "127.0.0.1")
	if e.get(port) != "" {
		return
	}
	list := portsOf(s.JobID)
	chosen := list[0]
	if i := slices.IndexFunc(list, free); i >= 0 {
		chosen = list[i]
	}
	e.set(port, strconv.Itoa(chosen))
	e.orSet(torchrun, strconv.Itoa(chosen))
}

// valueOf is what the last entry for a name says, or "".
func valueOf(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// portFree reports whether nobody has a TCP port of this machine, on any address.
func portFree(port int) bool {
	return bindable(unix.AF_INET, &unix.SockaddrInet4{Port: port}) &&
		bindable(unix.AF_INET6, &unix.SockaddrInet6{Port: port})
}

// bindable takes the port for a moment. What stands in the way of asking, such as no
// IPv6, is not in the way of the port.
func bindable(family int, addr unix.Sockaddr) bool {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	if family == unix.AF_INET6 {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
	}
	return unix.Bind(fd, addr) != unix.EADDRINUSE
}
