// Command gpusched-slurm is the program that 'gpusched --on slurm' becomes: the same command line, with a Slurm as its
// engine. People never type its name.
package main
