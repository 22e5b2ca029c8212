// Package removal removes the directories of jobs that nobody needs any more (job.Directory). The
// state file says which: what a daemon that was killed had begun, the next one does again.
package removal
