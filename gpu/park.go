package gpu

import (
	"fmt"
	"strconv"
	"strings"
)

// A ParkStatus is an exit status of gpusched-nvml --park or --unpark.
type ParkStatus int

const (
	ParkDone     ParkStatus = 0
	ParkUnsure   ParkStatus = 1 // it may be tried again
	ParkRefused  ParkStatus = 3 // the driver can't park the processes; they run as before
	ParkBroken   ParkStatus = 4 // the driver can't go on with a process: its GPU memory is lost
	ParkNoDriver ParkStatus = 5 // there is no libcuda.so.1, or it is older than 570; nothing was done
)

// ParkArgument returns the argument of gpusched-nvml --park and --unpark that names a process. Two
// processes with the same pid have different start times.
func ParkArgument(pid int, start uint64) string { return fmt.Sprintf("%d:%d", pid, start) }

// ParkProcess returns the process that an argument names; only its PID and Start are set.
func ParkProcess(argument string) (p Process, ok bool) {
	pid, start, _ := strings.Cut(argument, ":")
	var errPID, errStart error
	p.PID, errPID = strconv.Atoi(pid)
	p.Start, errStart = strconv.ParseUint(start, 10, 64)
	return p, errPID == nil && errStart == nil && p.PID > 0
}
