// Package step runs the command of an srun inside a job, as one or several tasks. It gives each task
// its GPUs and its files, and forwards signals. It asks no scheduler.
package step
