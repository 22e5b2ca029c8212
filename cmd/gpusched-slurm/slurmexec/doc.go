// Package slurmexec runs Slurm's own programs as the user. It owns how they are found, with which environment they run,
// how long they may take, and what kind of error their words are. It knows no jobs: what a program prints is read by
// package onslurm.
//
// # Invariants
//
//  1. No shell is run, and no program of gpusched's that goes by the name of one of Slurm's.
//  2. A program that does not end in its time, and a controller that does not answer, are errors of
//     api.CodeUnreachable; a refusal of Slurm's keeps its words.
//  3. All programs ask the same cluster: nothing runs where the environment or an option names another one.
package slurmexec
