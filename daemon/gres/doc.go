// Package gres finds out which GPUs of this machine belong to a Slurm installation,
// from its gres.conf and slurm.conf, if slurmd runs here or is enabled. The scheduler
// does not use these GPUs. Only this package knows what the lines of these files mean.
// It changes no file, runs nothing, and asks nobody.
//
// Invariants:
//
//  1. The package reads only regular files below /etc that only root can change. Below /etc,
//     no link may lead out of /etc, except for Slurm's own directory. Every directory and link on
//     the way there must be one that only root can change. No error quotes a file's text.
//  2. In doubt, a GPU is Slurm's. There is doubt in four cases: AutoDetect has an unknown value,
//     GPUs are counted without a device file, slurm.conf does not describe this node,
//     or slurmd runs with files that can't be read.
//  3. Files that can't be read change nothing: the last known claim stays.
//  4. The number of names that one line expands to is bounded.
package gres
