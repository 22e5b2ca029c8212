// Package export writes this machine, and others that it asks, down as the files of a Slurm: what hardware there is it
// reads, and what is made of that is package slurmsite's.
package export
