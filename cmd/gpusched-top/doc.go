// Command gpusched-top shows the GPUs and the jobs on the whole screen of a terminal, and acts on
// them. 'gpusched top' executes it. It is a separate program because the other commands would start
// more slowly with a full-screen library in them.
//
// It asks the scheduler as any client does. For a job's details, reasons and output it runs
// gpusched in a terminal.
package main
