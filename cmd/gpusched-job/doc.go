// Command gpusched-job is the first program of every job's unit: it reads the
// private spec file that is its argument, proves the device filter and becomes
// the job's command. All of it is package launch; this is the main.
package main
