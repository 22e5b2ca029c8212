// Package onslurm answers the command line's requests from a Slurm. It asks Slurm's own programs
// (package slurmexec) and answers in the types of package api. It owns which program is run for
// which request, how its output is read, the translation of Slurm's words into ours, and the tables
// of what Slurm has no place for (OptionGaps).
//
// # Invariants
//
//  1. Output is read as text with a separator that is random and new for each call, so that no
//     job's name or comment can make a field or a row. This form is the same since Slurm 20.11; the
//     JSON of 22.05 ignores which job is asked for, lacks the path of the output, and takes five
//     times as long. Output that can't be read is an error, never guessed or skipped. scontrol has
//     no separator: its record of a job counts only if it begins with the name and the user that
//     squeue reported.
//  2. What Slurm can't do is refused by a row of OptionGaps before anything is done.
package onslurm
