// Package slurmexec runs Slurm's own programs as the user. It finds the programs, sets their
// environment and their time limits, and decides which kind of error their messages mean. It knows
// nothing about jobs: package onslurm reads the output of the programs.
//
// # Invariants
//
//  1. No shell is run. A gpusched program under the name of one of Slurm's programs is not run
//     either.
//  2. If a program does not end in time, or a controller does not answer, the error has
//     api.CodeUnreachable. If Slurm refuses, the error contains Slurm's own words.
//  3. All programs ask the same cluster. If the environment or an option names another cluster,
//     nothing runs.
package slurmexec
