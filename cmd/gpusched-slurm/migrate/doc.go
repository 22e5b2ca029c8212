// Package migrate moves a user's waiting jobs from this machine's scheduler to
// a Slurm. It holds each job here, submits it there once, and cancels it here.
// It owns the file that records the moves. At all times a job is in at least
// one of the two queues. While a job may be in both, it is not released here.
package migrate
