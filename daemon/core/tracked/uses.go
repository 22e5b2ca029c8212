package tracked

import (
	"slices"

	"github.com/gpusched/gpusched/daemon/job"
)

// Unsampled is the use of a GPU that no sample showed since the attempt began, or
// since the daemon did.
const Unsampled = -2

// CurrentUses returns what is known of the use of the GPUs of the current attempt.
func (l *Job) CurrentUses() []job.GPUNow {
	a := l.Attempt
	if l.usesOf == a.Number && len(l.uses) == len(a.GPUs) {
		return l.uses
	}
	l.usesOf, l.uses = a.Number, make([]job.GPUNow, len(a.GPUs))
	for i := range a.GPUs {
		l.uses[i] = job.GPUNow{GPUUse: a.GPUs[i].Use, UsedBytes: Unsampled}
	}
	return l.uses
}

// KeepUse puts what is known of the use of its GPUs into the job's attempt, for
// a record.
func (l *Job) KeepUse() {
	a := l.Attempt
	if a == nil || l.usesOf != a.Number || len(l.uses) != len(a.GPUs) {
		return
	}
	refs := slices.Clone(a.GPUs)
	for i := range refs {
		refs[i].Use = l.uses[i].GPUUse
	}
	if slices.Equal(refs, a.GPUs) {
		return
	}
	changed := *a
	changed.GPUs = refs
	l.Attempt = &changed
}

// UsesNow are what views show; nil where the job has no GPU now.
func (l *Job) UsesNow() []job.GPUNow {
	if !l.State.Live() || len(l.Attempt.GPUs) == 0 {
		return nil
	}
	uses := slices.Clone(l.CurrentUses())
	for i := range uses {
		uses[i].UsedBytes = max(uses[i].UsedBytes, -1)
	}
	return uses
}
