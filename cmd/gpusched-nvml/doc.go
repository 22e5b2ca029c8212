// Command gpusched-nvml reads the state of the GPUs. gpuschedd starts it as a child process. It is
// the only program that loads NVIDIA's library, so a driver that hangs or crashes affects nothing
// else. Administrators can run it to see what the driver reports.
package main
