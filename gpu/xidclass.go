package gpu

import "slices"

// XidClasses says what a GPU needs after which Xids. One that is in no list is
// written down and changes nothing.
type XidClasses struct {
	Job, Drain, Reset, Reboot []int
}

// DefaultXids follows NVIDIA's catalogue of Xids, where that names an action. An
// error of the memory that was contained (94) hit one job and leaves the GPU as it
// was, a row that is marked to be replaced (63) nobody: the driver keeps both away
// from further work. Device.RowsPending reports the reset that is due some day.
func DefaultXids() XidClasses {
	return XidClasses{
		Job:    []int{13, 31, 43, 45, 68, 94},
		Drain:  []int{64},
		Reset:  []int{46, 48, 62, 74, 95, 110, 119, 120, 136, 140, 142, 143, 145, 146, 147, 148, 149, 150, 155, 156, 158},
		Reboot: []int{54, 78, 79, 151, 167},
	}
}

// Of returns what a GPU needs after the Xid. XidRecovery says it itself.
func (c XidClasses) Of(x Xid) Recovery {
	if x.Code == XidRecovery {
		return x.Recovery
	}
	switch {
	case slices.Contains(c.Reboot, x.Code):
		return RecoverReboot
	case slices.Contains(c.Reset, x.Code):
		return RecoverReset
	case slices.Contains(c.Drain, x.Code):
		return RecoverDrain
	case slices.Contains(c.Job, x.Code):
		return RecoverJob
	}
	return RecoverNothing
}

// XidName says in a few words what an Xid means, "" where that is not known.
func XidName(code int) string {
	if name, ok := memoryXid(code); ok {
		return name
	}
	switch code {
	case 13:
		return "exception in a kernel of the job"
	case 31:
		return "the job used a bad GPU address"
	case 43:
		return "the GPU gave up the job's work"
	case 45:
		return "the job's work was taken off the GPU"
	case 46, 62:
		return "the GPU stopped"
	case 54:
		return "power cable not connected"
	case 68:
		return "exception in video work of the job"
	case 74, 145, 146, 147, 148, 149, 150, 155:
		return "NVLink error"
	case 78, 142, 143:
		return "the GPU could not be started"
	case 79:
		return "the GPU has fallen off the bus"
	case 109:
		return "time-out in switching work"
	case 110:
		return "security fault"
	case 119, 120:
		return "the GPU's own processor does not answer"
	case 136:
		return "link training failed"
	case 151:
		return "key rotation failed"
	case XidRecovery:
		return "the driver's advice changed"
	case 158, 167:
		return "fatal time-out"
	}
	return ""
}

// memoryXid names the Xids about the GPU's memory.
func memoryXid(code int) (string, bool) {
	switch code {
	case 48:
		return "double-bit ECC error", true
	case 63:
		return "a bad row of memory is to be replaced", true
	case 64:
		return "a bad row of memory could not be replaced", true
	case 94:
		return "memory error that hit one program", true
	case 95:
		return "memory error that hit the whole GPU", true
	case 140:
		return "ECC error that was not corrected", true
	case 156:
		return "a part of the GPU is to be retired", true
	}
	return "", false
}
