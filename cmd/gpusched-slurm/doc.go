// Command gpusched-slurm is what 'gpusched' becomes where Slurm runs the jobs (--on slurm): the same command line, and
// the one that is linked with what asks a Slurm. People never type its name.
package main
