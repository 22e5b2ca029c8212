// Package slurmsite writes the files of a Slurm whose first machine is this one: its hardware and
// its gpuschedd's rules in Slurm's terms, for the day on which one machine is not enough.
//
// Invariants:
//  1. A quota, a share, a class or a name that Slurm can't have is mentioned in the notes, as is
//     every other setting of the site without a counterpart in Slurm.
//  2. No name from a settings file or from the driver gets into a line where it could be more than
//     a name.
//  3. The same site gives the same bytes.
package slurmsite
