package gpu

import (
	"fmt"
	"strings"
)

// Recovery is what a GPU needs after an error before jobs may have it again.
type Recovery string

// The recoveries, the lightest first.
const (
	// nothing: the error says nothing of the GPU's health, or the driver says that it is well again
	RecoverNothing Recovery = ""
	RecoverJob     Recovery = "job"    // the same: it was the job's own fault
	RecoverDrain   Recovery = "drain"  // nothing new on it, and somebody has to look
	RecoverReset   Recovery = "reset"  // of the GPU, once nothing uses it
	RecoverReboot  Recovery = "reboot" // of the machine
)

// Recoveries lists every Recovery, the lightest first.
func Recoveries() []Recovery {
	return []Recovery{RecoverNothing, RecoverJob, RecoverDrain, RecoverReset, RecoverReboot}
}

// Sick reports whether a GPU that needs this takes no job.
func (r Recovery) Sick() bool {
	return r == RecoverDrain || r == RecoverReset || r == RecoverReboot
}

// Needs says what is needed, after "it needs".
func (r Recovery) Needs() string {
	switch r {
	case RecoverDrain:
		return "a look by an administrator"
	case RecoverReset:
		return "a reset"
	case RecoverReboot:
		return "a reboot of the machine"
	}
	return "nothing"
}

// Next says what an administrator does about a GPU that needs this.
func (r Recovery) Next(index int) string {
	reset := fmt.Sprintf("reset it once nothing uses it ('nvidia-smi -i %d --gpu-reset', while the scheduler and nvidia-persistenced are stopped: see SICK GPUS in gpusched-admin(7)), "+
		"then 'gpusched gpu undrain %d'; a reboot does both", index, index)
	switch r {
	case RecoverDrain:
		return fmt.Sprintf("nothing new is placed on it; look at 'nvidia-smi -q -i %d', and %s", index, reset)
	case RecoverReset:
		return "nothing new is placed on it; " + reset
	case RecoverReboot:
		return "nothing new is placed on it; reboot the machine when its jobs have ended, and have the hardware looked at if it comes again"
	}
	return ""
}

// parseRecovery reads the text of XidRecovery, such as "GPU recovery action
// changed from 0x0 (None) to 0x1 (GPU Reset Required)". What it does not know
// it takes for a reset, which is what most GPUs need.
func parseRecovery(text string) Recovery {
	_, after, ok := strings.Cut(text, " to ")
	if !ok {
		return RecoverReset
	}
	number, _, _ := strings.Cut(after, " ")
	switch number {
	case "0x0":
		return RecoverNothing
	case "0x2":
		return RecoverReboot
	case "0x3": // only peers must not use it
		return RecoverDrain
	}
	return RecoverReset
}
