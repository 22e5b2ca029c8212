// Package feed implements the commands that queue the jobs of files and of other schedulers
// (import, watch and add). It also implements the commands that move jobs and settings to Slurm
// (migrate and export). However often a file is read, each of its lines is queued once.
package feed
