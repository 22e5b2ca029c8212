// Package gres finds out which GPUs of this machine belong to a Slurm installation, if slurmd runs
// here or is enabled. It reads Slurm's gres.conf and slurm.conf. The scheduler does not use these
// GPUs. No other package knows what the lines of these files mean. The package changes no file,
// runs nothing, and asks nobody.
//
// Invariants:
//
//  1. The package reads only regular files below /etc that only root can change. Below /etc, no
//     link may lead out of /etc, except for Slurm's own directory. Only root may be able to change
//     the directories and links on the path to that directory. No error quotes a file's text.
//  2. In doubt, a GPU belongs to Slurm. There is doubt in four cases: AutoDetect has an unknown
//     value, GPUs are counted without a device file, slurm.conf does not describe this node, or
//     slurmd runs and its files can't be read.
//  3. If the files can't be read, nothing changes: the last known claim stays.
//  4. The number of names that the lines can expand to is limited.
package gres
