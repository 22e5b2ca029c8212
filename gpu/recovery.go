package gpu

import (
	"fmt"
	"strings"
)

// A Recovery is what a GPU needs after an error before it is assigned to jobs again.
type Recovery string

// The recoveries, lightest first.
const (
	// Nothing is needed: the error does not affect the GPU's health, or the driver reports that the
	// GPU is healthy again.
	RecoverNothing Recovery = ""
	RecoverJob     Recovery = "job"    // nothing is needed: the job caused the error
	RecoverDrain   Recovery = "drain"  // no new jobs until an administrator has checked the GPU
	RecoverReset   Recovery = "reset"  // reset of the GPU once it is unused
	RecoverReboot  Recovery = "reboot" // reboot of the machine
)

// Recoveries returns every Recovery, lightest first.
func Recoveries() []Recovery {
	return []Recovery{RecoverNothing, RecoverJob, RecoverDrain, RecoverReset, RecoverReboot}
}

// Sick reports whether the GPU must not get jobs until it has recovered.
func (r Recovery) Sick() bool {
	return r == RecoverDrain || r == RecoverReset || r == RecoverReboot
}

// Needs completes the sentence "it needs …".
func (r Recovery) Needs() string {
	switch r {
	case RecoverDrain:
		return "to be checked by an administrator"
	case RecoverReset:
		return "a reset"
	case RecoverReboot:
		return "a reboot of the machine"
	}
	return "nothing"
}

// Next tells an administrator what to do. The argument card is NVML's index of the whole GPU. If
// the GPU is a slice, the argument index differs from card.
func (r Recovery) Next(index, card int) string {
	reset := fmt.Sprintf("reset it once nothing uses it ('nvidia-smi -i %d --gpu-reset', while the scheduler and nvidia-persistenced are stopped: see SICK GPUS in gpusched-admin(7)), "+
		"then 'gpusched gpu undrain %d'; a reboot does both", card, index)
	switch r {
	case RecoverDrain:
		return fmt.Sprintf("no new job gets it; look at 'nvidia-smi -q -i %d', and %s", card, reset)
	case RecoverReset:
		return "no new job gets it; " + reset
	case RecoverReboot:
		return "no new job gets it; reboot the machine when its jobs have ended, and if the error comes again, have the hardware checked"
	}
	return ""
}

// parseRecovery reads the text of an Xid with code XidRecovery, such as "GPU recovery action
// changed from 0x0 (None) to 0x1 (GPU Reset Required)". An unknown action counts as a reset,
// because most GPUs with an error need one.
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
	case "0x3": // only peer access is forbidden
		return RecoverDrain
	}
	return RecoverReset
}
