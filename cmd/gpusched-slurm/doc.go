// Command gpusched-slurm implements 'gpusched --on slurm': the same command line, with Slurm as the
// engine. gpusched executes it; people never type its name.
package main
