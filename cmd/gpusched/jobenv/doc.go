// Package jobenv prepares what surrounds a new job: its directory, environment and set-up. It also
// checks the job's program, and whether other users could have written a file that would run as the
// caller.
package jobenv
