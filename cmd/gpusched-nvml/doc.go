// Command gpusched-nvml reads the machine's GPUs for gpuschedd: the only program
// that loads NVIDIA's library, so that a driver that hangs or crashes takes
// nothing else with it. It is the daemon's child; by hand it is for looking.
package main
