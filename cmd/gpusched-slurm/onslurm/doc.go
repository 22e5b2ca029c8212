// Package onslurm answers requests of the command line from a Slurm cluster. It asks Slurm's own
// programs (package slurmexec) and answers in the types of package api. It decides which program is
// run for which request. It reads the programs' output and translates Slurm's words into those of
// gpusched. It also owns the tables of options that Slurm does not have (OptionGaps).
//
// # Invariants
//
//  1. Output is read as text whose separator is random and new for each call, so that no job's name
//     or comment can imitate a field or a row. This form has been the same since Slurm 20.11. The
//     JSON of 22.05 is no alternative: it ignores which job is asked for, lacks the path of the
//     output, and takes five times as long. Output that cannot be read is an error; it is never
//     guessed or skipped. scontrol has no separator: its record of a job counts only if it begins
//     with the name and the user that squeue reported.
//  2. A request that Slurm cannot fulfil is refused by a row of OptionGaps before anything is done.
package onslurm
