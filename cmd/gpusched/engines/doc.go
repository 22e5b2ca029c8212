// Package engines declares what the command line asks of an engine, which runs jobs: the scheduler
// of a machine, or Slurm. gpusched itself knows the scheduler alone. To ask Slurm it becomes
// gpusched-slurm, which is the same command line with a Slurm behind it. Only gpusched-slurm has
// the commands that carry jobs or a machine's settings over to Slurm.
package engines
