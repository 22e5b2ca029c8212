// Package engines is what the command line asks of whatever runs jobs: the scheduler of a machine, or Slurm.
// gpusched itself has the scheduler alone. For Slurm it becomes gpusched-slurm, which is the same command line
// with a Slurm behind it (Slurm), and which alone has the commands that carry a machine or its jobs over there.
package engines
