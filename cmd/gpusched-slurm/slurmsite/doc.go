// Package slurmsite writes the files of a Slurm whose first machine is this one: its
// hardware and the rules of its gpuschedd in Slurm's words, for the day on which one
// machine is not enough.
//
// Invariants:
//  1. A quota, a share, a class or a name that Slurm can't have is named in the notes, and
//     so is every other setting of the site without an equal in Slurm.
//  2. No name that a settings file or the driver gave gets into a line where it could
//     mean more than a name.
//  3. The same site gives the same bytes.
package slurmsite
