// Package gres finds out which GPUs of this machine a Slurm manages, from its gres.conf and
// slurm.conf, if slurmd runs here or is enabled. The scheduler leaves these GPUs alone. The package
// owns the meaning of these files' lines. It changes no file, runs nothing, and asks nobody.
//
// Invariants:
//
//  1. It only reads regular files below /etc that only root can change. Below /etc, no link may
//     lead out of /etc, except for Slurm's directory itself, whose directories and links only root
//     may be able to change. No error quotes a file's text.
//  2. In doubt a GPU is Slurm's: for an unknown kind of AutoDetect, for GPUs that are counted
//     without a device file, for a node that slurm.conf does not describe, and while slurmd runs
//     with files that can't be read.
//  3. Files that can't be read change nothing: the last known claim stays.
//  4. The number of names that a line stands for is bounded.
package gres
