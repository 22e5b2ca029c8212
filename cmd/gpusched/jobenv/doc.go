// Package jobenv is what lies around a job where it is submitted: its directory, environment and set-up, the program
// that it runs, and whether others could have put that there.
package jobenv
