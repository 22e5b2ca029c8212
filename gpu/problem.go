package gpu

import "slices"

// A Problem is the reason why a Snapshot has no devices. The list below is complete.
type Problem string

const (
	ProblemNone           Problem = ""
	ProblemLibraryMissing Problem = "library-missing" // libnvidia-ml.so.1 cannot be loaded
	ProblemDriverMissing  Problem = "driver-missing"  // the library is present, but not the kernel module
	ProblemInitFailed     Problem = "init-failed"     // the driver refuses to initialise
	ProblemUnsupported    Problem = "unsupported"     // the driver is too old, or its library lacks a required function
	ProblemStale          Problem = "stale"           // no answer in time, so the state is unknown
)

// problems returns two texts for each Problem: a short one, and sentences that say what is wrong,
// why, and what to do.
func problems() []problemText {
	return []problemText{
		{ProblemLibraryMissing, "the driver's library is missing",
			"The NVIDIA management library libnvidia-ml.so.1 cannot be loaded, so no GPU is known: " +
				"the driver's user-space part is not installed here. " +
				"Install the driver (Debian: libnvidia-ml1 or nvidia-driver) and run nvidia-smi; gpusched looks again by itself."},
		{ProblemDriverMissing, "the driver is not loaded",
			"The NVIDIA kernel module is not loaded, so no GPU is known: it was not built for this kernel, or it was unloaded. " +
				"Try \"modprobe nvidia\" and look at \"dmesg | grep -i nvrm\"; gpusched looks again by itself."},
		{ProblemInitFailed, "the driver refuses to start",
			"The NVIDIA driver refuses to start its management library, so no GPU is known: " +
				"often the driver was upgraded while the old kernel module is still loaded. " +
				"Run nvidia-smi to see its message, then reload the nvidia module or reboot; gpusched looks again by itself."},
		{ProblemUnsupported, "the driver is too old",
			"The NVIDIA management library lacks calls that gpusched needs, so no GPU is known: the driver is too old. " +
				"Install driver 470 or newer (\"gpusched-nvml --census\" lists what is missing)."},
		{ProblemStale, "the driver does not answer",
			"gpusched-nvml, which asks the NVIDIA driver, does not answer, so nobody knows what is free on the GPUs: " +
				"a call into the driver hangs, usually because of a faulty GPU, or the program cannot run here. " +
				"Look for Xid lines in \"dmesg | grep -i nvrm\"; running jobs continue, and new ones start when it answers again."},
	}
}

type problemText struct {
	problem         Problem
	short, sentence string
}

// Problems returns every Problem but ProblemNone.
func Problems() []Problem {
	var list []Problem
	for _, t := range problems() {
		list = append(list, t.problem)
	}
	return list
}

// Sentence says what is wrong, why, and what to do. It is "" for ProblemNone.
func (p Problem) Sentence() string {
	if t := p.text(); t.sentence != "" || p == ProblemNone {
		return t.sentence
	}
	return "The GPUs cannot be read for a reason that this version does not know (" + toPrintable(string(p), maxWord) +
		"); look at the journal of gpusched.service."
}

// Short says in a few words what is wrong.
func (p Problem) Short() string { return p.text().short }

func (p Problem) text() problemText {
	all := problems()
	at := slices.IndexFunc(all, func(t problemText) bool { return t.problem == p })
	if at < 0 {
		return problemText{}
	}
	return all[at]
}

func (p Problem) known() bool { return p == ProblemNone || slices.Contains(Problems(), p) }
