// Command gpusched-top shows the GPUs and the jobs on the whole screen of a terminal, and what
// they do. 'gpusched top' becomes it; it is a program of its own so that no other command has to
// load what a full screen needs.
//
// It asks the scheduler as any client does. What a job's page, its reasons and its output say is
// what gpusched prints in a terminal that it is given.
package main
