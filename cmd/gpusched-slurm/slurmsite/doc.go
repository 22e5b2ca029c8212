// Package slurmsite writes the configuration files of a Slurm whose first machine is this one. The
// files contain the hardware, and the rules of this machine's gpuschedd in Slurm's terms. Sites use
// them when one machine is no longer enough.
//
// Invariants:
//  1. The notes mention each quota, share, class or name that Slurm cannot have, and every other
//     setting of the site that has no counterpart in Slurm.
//  2. No name from a settings file or from the driver gets into a line where Slurm could read it as
//     more than a name.
//  3. The same site gives the same bytes.
package slurmsite
