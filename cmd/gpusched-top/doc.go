// Command gpusched-top shows the GPUs and the jobs on the whole screen of a terminal, and can
// change them. 'gpusched top' executes it. It is a separate program because its full-screen library
// would delay the start of the other commands.
//
// It is an ordinary client of the scheduler. To show a job's
// details, reasons and output, it runs gpusched in a terminal.
package main
