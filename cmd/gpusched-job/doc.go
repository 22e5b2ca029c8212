// Command gpusched-job is the first program of every job's unit. It reads
// the private spec file that its argument names, checks the device filter,
// and executes the job's command. Package launch has the implementation.
package main
