// Package feed has the commands that queue the jobs of files and of other schedulers: import, watch and add; and those
// that carry jobs and settings to a Slurm: migrate and export.
package feed
