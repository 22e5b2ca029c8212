package cuda

// #include "library.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/gpusched/gpusched/gpu"
)

// The driver's states of a process, as in cuda.h.
const (
	running C.int = iota
	locked
	checkpointed
	failed
)

// A lostError says that a process can't go on, because the driver has lost its GPU memory.
type lostError struct{ error }

var errFailed = errors.New("a process is in the driver's state FAILED")

// Park makes the driver copy the GPU memory of all processes to the host and take the GPUs from
// them. If it can't for one of them, all run on. Park may be called again, also after a call that
// was killed. The second result is the driver's word. It may hang.
func Park(processes []gpu.Process) (gpu.ParkStatus, string) { return begin(processes, park) }

// Unpark undoes Park. It may be called again, also after an error. Without moves, the processes return to
// their GPUs. If the driver can't make the moves, all stay parked.
func Unpark(processes []gpu.Process, moves []gpu.ParkMove) (gpu.ParkStatus, string) {
	return begin(processes, func(processes []gpu.Process) (gpu.ParkStatus, error) { return unpark(processes, moves) })
}

func begin(processes []gpu.Process, do func([]gpu.Process) (gpu.ParkStatus, error)) (gpu.ParkStatus, string) {
	if !slices.ContainsFunc(processes, alive) {
		return gpu.ParkDone, "the processes have ended"
	}
	var why [256]C.char
	if C.cuda_park_open(&why[0], C.ulong(len(why))) != C.CUDA_WELL {
		return gpu.ParkNoDriver, C.GoString(&why[0])
	}
	status, err := do(processes)
	if err != nil {
		return status, err.Error()
	}
	return status, "done"
}

func park(processes []gpu.Process) (gpu.ParkStatus, error) {
	known := slices.DeleteFunc(slices.Clone(processes), func(p gpu.Process) bool {
		_, err := call(C.PARK_STATE, p)
		return err != nil
	})
	err := each(processes, -1, C.PARK_STATE)
	if err == nil {
		err = each(processes, running, C.PARK_LOCK)
	}
	if err == nil {
		err = each(processes, locked, C.PARK_CHECKPOINT)
	}
	if err == nil {
		return gpu.ParkDone, nil
	}
	switch back := giveBack(known); {
	case errors.As(err, new(lostError)):
		return gpu.ParkBroken, err
	case back != nil:
		return gpu.ParkBroken, fmt.Errorf("%w, then %w", err, back)
	}
	return gpu.ParkRefused, err
}

func unpark(processes []gpu.Process, moves []gpu.ParkMove) (gpu.ParkStatus, error) {
	_, err := call(C.PARK_INIT, gpu.Process{})
	if err == nil {
		err = giveBack(processes, moves...)
	}
	switch {
	case errors.As(err, new(lostError)):
		return gpu.ParkBroken, err
	case err != nil && len(moves) > 0 && !slices.ContainsFunc(processes, returned):
		return gpu.ParkRefused, err
	case err != nil:
		return gpu.ParkUnsure, err
	}
	return gpu.ParkDone, nil
}

// giveBack makes all processes run on. If the memory of one can't be copied back, all stay locked.
func giveBack(processes []gpu.Process, moves ...gpu.ParkMove) error {
	if err := each(processes, checkpointed, C.PARK_RESTORE, moves...); err != nil {
		return err
	}
	return each(processes, locked, C.PARK_UNLOCK)
}

// each makes a call on those processes that are in the given state. It stops at the first error, such
// as that of a process that uses no CUDA, but passes over processes that have ended.
func each(processes []gpu.Process, state, number C.int, moves ...gpu.ParkMove) error {
	for _, p := range processes {
		if !alive(p) {
			continue
		}
		is, err := call(C.PARK_STATE, p)
		if err == nil && is == state {
			if _, err = call(number, p, moves...); err != nil {
				is, _ = call(C.PARK_STATE, p)
			}
		}
		switch {
		case is == failed:
			return lostError{cmp.Or(err, errFailed)}
		case err != nil && alive(p):
			return err
		}
	}
	return nil
}

// call makes a call on a process. It returns the state if the call asks for it.
func call(number C.int, p gpu.Process, moves ...gpu.ParkMove) (state C.int, err error) {
	var why [256]C.char
	first := (*C.struct_move)(unsafe.Pointer(unsafe.SliceData(moves))) // of the same layout
	if C.cuda_park(number, C.int(p.PID), first, C.uint(len(moves)), &state, &why[0], C.ulong(len(why))) != 0 {
		return running, errors.New(C.GoString(&why[0]))
	}
	return state, nil
}

// returned reports whether a process may have its GPU memory back.
func returned(p gpu.Process) bool {
	state, err := call(C.PARK_STATE, p)
	return alive(p) && (err != nil || state != checkpointed)
}

// alive reports whether a process has not ended, even if another has its pid now.
func alive(p gpu.Process) bool {
	o := gpu.OwnerOf("/proc", p.PID)
	return o.Alive && o.Start == p.Start
}
