package job

// These constants approximate the memory and disk space that a job takes until it ends. They serve
// to bound the jobs of one user. They are close to measured values, and simple enough to document.
const (
	rowBytes     = 2 << 10 // for any job, in the state file and in memory
	limitBytes   = 64      // for one resource limit
	rangeBytes   = 32      // for one range of an array's numbers
	afterBytes   = 32      // for one dependency
	notifyBytes  = 96      // for one request for messages
	memoryFactor = 8       // a byte in memory counts like this many bytes on disk
)

// Size returns the stored size of the payload, in bytes.
func (y *Payload) Size() int64 {
	n := len(y.Dir) + limitBytes*len(y.Limits) + len(y.Log.Path) + len(y.Snapshot.Dir) + len(y.Snapshot.Source)
	n += len(y.Setup.Command) + len(y.Setup.Conda) + len(y.Setup.Venv)
	n += len(y.Container.Image) + len(y.Container.Store)
	for _, m := range y.Container.Mounts {
		n += len(m.Source) + len(m.Target)
	}
	for _, list := range [][]string{y.Container.Args, y.Argv, y.Env, y.Setup.Modules, y.NotifyTo} {
		for _, s := range list {
			n += len(s) + 1
		}
	}
	return int64(n)
}

// Weight returns the bytes for which the job counts in its user's limit until it ends. These are
// the size of its private part and, eightfold, the size of the user's texts that the scheduler
// keeps in memory (parameters of a sweep, dependencies, comment, tags, lane). A task shares all of that
// with its array.
func (j *Job) Weight() int64 {
	if j.Task != nil {
		return rowBytes
	}
	n := len(j.Label.Name) + len(j.Label.Comment) + len(j.Request.Lane)
	n += afterBytes*len(j.Request.After) + notifyBytes*len(j.Request.Notify)
	for k, v := range j.Label.Tags {
		n += len(k) + len(v)
	}
	if a := j.Request.Array; a != nil {
		n += rangeBytes * len(a.Ranges)
		for _, p := range a.Params {
			n += len(p.Name)
			for _, v := range p.Values {
				n += len(v) + 16 // the size of the string header
			}
		}
	}
	return rowBytes + j.Bytes + int64(memoryFactor*n)
}

// Person returns the account whose limits apply to the job: its owner, or the user to whom the
// owner's subordinate uid belongs.
func (j *Job) Person() Account {
	if j.Principal != nil {
		return *j.Principal
	}
	return Account{UID: j.Owner.UID, User: j.Owner.User}
}

// IsSubordinate reports whether a uid is that of the owner, and belongs to another account as a
// subordinate uid, as in containers. Such a uid has no name of its own.
func (j *Job) IsSubordinate(uid int) bool { return j.Owner.UID == uid && j.Principal != nil }

// NameOf returns the recorded name of the account with this number, if that account is the job's
// owner or person. Otherwise it returns nil.
func (j *Job) NameOf(uid int) *string {
	switch {
	case j.Owner.UID == uid:
		return &j.Owner.User
	case j.Principal != nil && j.Principal.UID == uid:
		return &j.Principal.User
	}
	return nil
}
