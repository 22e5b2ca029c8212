// Package jobenv prepares the surroundings of a new job: its directory, environment and set-up. It
// also checks the job's program. And it finds out whether other users could have written a file
// that would run with the caller's rights.
package jobenv
