// Package onslurm answers what the command line asks of a scheduler where that is Slurm: by
// Slurm's own programs (package slurmexec), and in the types of package api. It owns which of them is run for what, how what
// they print is read, Slurm's words in ours, and the tables of what Slurm has no place for (Gaps,
// OptionGaps).
//
// # Invariants
//
//  1. What is read is text with a separator that is new and random for each call, so that no name or comment
//     of a job makes a field or a row, the same since Slurm 20.11: the JSON of 22.05 ignores which job is
//     asked for, has no path of the output, and takes five times as long. What cannot be read is an error,
//     never guessed or left out. Of scontrol, which has no separator, a record counts where it begins with
//     the name and user that squeue says.
//  2. A command that Slurm can't carry out is refused by a row of Gaps before anything is done.
package onslurm
