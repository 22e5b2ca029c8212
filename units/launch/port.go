package launch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The ports for jobs are below those that the kernel assigns automatically (from 32768, unless the
// site changes that). The range has several parts, and each job has one port in each part. Jobs
// whose ids differ by less than portsInPart have different ports.
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

// rendezvous gives the processes of the job an address at which they can meet, and which no other
// job on the machine has. Frameworks use MASTER_ADDR and MASTER_PORT. torchrun, whose own default
// is the same port for everybody, uses PET_MASTER_PORT. rendezvous keeps what the submitter set,
// unless that is the port of the job that submitted this one.
func (e *environment) rendezvous(s *Spec, free func(port int) bool) {
	const port, torchrun = "MASTER_PORT", "PET_MASTER_PORT"
	if outer, err := strconv.ParseInt(valueOf(s.Env, "GPUSCHED_JOB_ID"), 10, 64); err == nil && outer > 0 {
		other := valueOf(s.Env, otherPort)
		for _, name := range []string{port, torchrun} {
			if n, err := strconv.Atoi(e.get(name)); err == nil && (slices.Contains(portsOf(outer), n) || e.get(name) == other) {
				e.remove(name)
			}
		}
	}
	e.orSet("MASTER_ADDR", "127.0.0.1")
	if e.get(port) != "" {
		return
	}
	chosen := e.choosePort(s.JobID, free)
	e.set(port, strconv.Itoa(chosen))
	e.orSet(torchrun, strconv.Itoa(chosen))
}

// otherPort is set in a job that got a port outside portsOf. If this job submits another one, the
// variable shows that MASTER_PORT belongs to the outer job.
const otherPort = "GPUSCHED_MASTER_PORT"

// choosePort returns the first of the job's own ports that is free. If other processes have taken
// all of these, it returns the first free port after them, and says so in the job's output.
func (e *environment) choosePort(id int64, isFree func(port int) bool) int {
	list := portsOf(id)
	if i := slices.IndexFunc(list, isFree); i >= 0 {
		return list[i]
	}
	for i := range parts*portsInPart - 1 {
		port := firstPort + (list[0]-firstPort+1+i)%(parts*portsInPart)
		if !isFree(port) {
			continue
		}
		e.set(otherPort, strconv.Itoa(port))
		e.say = append(e.say, fmt.Sprintf("this job's own ports, %v, are in use: MASTER_PORT is %d", list, port))
		return port
	}
	e.say = append(e.say, fmt.Sprintf("all ports from %d to %d are in use: MASTER_PORT is %d, where nobody can listen",
		firstPort, firstPort+parts*portsInPart-1, list[0]))
	return list[0]
}

// valueOf returns the value of the last entry for a name, or "".
func valueOf(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// portFree reports whether a TCP port of this machine is free on every address.
func portFree(port int) bool {
	return canBind(unix.AF_INET, &unix.SockaddrInet4{Port: port}) &&
		canBind(unix.AF_INET6, &unix.SockaddrInet6{Port: port})
}

// canBind takes the port for a moment. Errors that prevent the test, such as a missing IPv6, do not
// make the port count as taken.
func canBind(family int, addr unix.Sockaddr) bool {
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
