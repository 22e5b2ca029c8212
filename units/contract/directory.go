package contract

import "strconv"

// MakeFlag makes gpusched-job make a user's directory for those of jobs (ScratchHome), as root. The
// site's directory and the user's number follow. RemoveFlag makes it remove a directory with
// everything in it, as the user; the path follows.
const (
	MakeFlag   = "--make-directory"
	RemoveFlag = "--remove-directory"
)

// DirectoryPrefix begins the names of units that make or remove a directory.
const DirectoryPrefix = "gpusched-directory-"

// ScratchVariable names the scratch directory of a job.
const ScratchVariable = "GPUSCHED_SCRATCH"

// ScratchHome returns the directory, within the site's, with the scratch directories of a user's
// jobs. It belongs to the user, so that the user's own rights are enough to make and to remove them.
func ScratchHome(site string, uid int) string { return site + "/u" + strconv.Itoa(uid) }

// ScratchDir returns the scratch directory of an attempt.
func ScratchDir(site string, uid int, job int64, attempt int) string {
	return ScratchHome(site, uid) + "/" + strconv.FormatInt(job, 10) + "." + strconv.Itoa(attempt)
}
