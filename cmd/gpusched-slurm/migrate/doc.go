// Package migrate moves the waiting jobs of a user from the scheduler of this machine to a Slurm: each is held here,
// submitted there once, and cancelled here. It owns the file of what has been moved. No job is ever in neither queue,
// and none that may be in both is let go here.
package migrate
