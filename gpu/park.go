package gpu

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// A ParkStatus is an exit status of gpusched-nvml --park or --unpark.
type ParkStatus int

const (
	ParkDone     ParkStatus = 0
	ParkUnsure   ParkStatus = 1 // it may be tried again
	ParkRefused  ParkStatus = 3 // the driver can't park the processes, or move them to these GPUs; nothing has changed
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

// A ParkMove names a GPU from which the driver took a process, and the GPU that takes over, as raw UUIDs.
type ParkMove struct{ Old, New [16]byte }

// ParkMoveArgument returns the argument of gpusched-nvml --unpark that names a move. The UUIDs are in
// the driver's spelling.
func ParkMoveArgument(from, to string) string { return from + "=" + to }

// ParkMoveOf returns the move that an argument names.
func ParkMoveOf(argument string) (m ParkMove, ok bool) {
	from, to, _ := strings.Cut(argument, "=")
	ok = rawUUID(&m.Old, from) && rawUUID(&m.New, to)
	return m, ok
}

func rawUUID(raw *[16]byte, text string) bool {
	b, _ := hex.DecodeString(strings.ReplaceAll(strings.TrimPrefix(text, "GPU-"), "-", ""))
	return copy(raw[:], b) == len(raw) && text == fmt.Sprintf("GPU-%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
