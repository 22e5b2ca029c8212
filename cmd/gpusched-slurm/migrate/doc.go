// Package migrate moves a user's waiting jobs from this machine's scheduler to a Slurm cluster. It
// holds each job on this machine, submits it to Slurm once, and then cancels it on this machine. It
// owns the file that records the moves. At all times a job is in at least one of the two queues.
// While a job may be in both, it is not released on this machine.
package migrate
