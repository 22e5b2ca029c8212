// Command gpusched-job is the first program of every job's unit. It reads
// the private spec file that its argument names, checks the device filter,
// and executes the job's command. Package launch has the implementation.
// In other modes it keeps a job's terminal, or is the first process of a
// job's container (package hold).
package main
