// Package engines declares what the command line needs from an engine. An engine runs jobs: it is
// the scheduler of a machine, or Slurm. gpusched itself knows only the scheduler. To ask Slurm,
// gpusched replaces itself with gpusched-slurm, the same command line for Slurm. Only
// gpusched-slurm has the commands that move jobs or settings of a machine to Slurm.
package engines
