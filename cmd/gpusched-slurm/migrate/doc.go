// Package migrate moves a user's waiting jobs from this machine's scheduler to a Slurm: each job is
// held here, submitted there once, and cancelled here. It owns the file that records the moves. A
// job is in at least one of the queues at all times, and is not released here while it may be in
// both.
package migrate
