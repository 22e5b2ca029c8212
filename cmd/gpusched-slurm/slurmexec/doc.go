// Package slurmexec runs Slurm's own programs as the user. It owns how they are found, their
// environment, their time limits, and what kind of error their messages are. It knows no jobs:
// package onslurm reads what the programs print.
//
// # Invariants
//
//  1. No shell is run, and no gpusched program that has the name of one of Slurm's.
//  2. A program that does not end in time and a controller that does not answer are errors of
//     api.CodeUnreachable. If Slurm refuses, its own words are part of the error.
//  3. All programs ask the same cluster: nothing runs if the environment or an option names another
//     one.
package slurmexec
