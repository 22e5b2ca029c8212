// Package gres finds out which GPUs of this machine a Slurm gives away: by its
// gres.conf and slurm.conf, as far as slurmd is to run here. The scheduler leaves
// these GPUs alone. It owns what the lines of these files mean; it never changes one,
// runs nothing, and asks nobody.
//
// Invariants:
//
//  1. Read are regular files below /etc that root alone can change, and below it no
//     link leads out of /etc, but Slurm's directory itself: over directories and links
//     that root alone can change. What a file says is in no error, whatever file it is.
//  2. In doubt a GPU is Slurm's: a kind of detection that is not known, GPUs that are
//     counted without a device file, a node that slurm.conf does not describe, a slurmd
//     that runs by settings which can't be read.
//  3. What can't be read takes nothing back: the claim that was known stays.
//  4. What a line names is bounded, however it is written.
package gres
