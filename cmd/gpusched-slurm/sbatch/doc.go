// Package sbatch translates job requests for Slurm's sbatch, srun and scontrol: into options, and
// into a script that becomes the job's command byte for byte. It owns the meaning of each option
// there, which ones a Slurm can't carry out and why, and how a job's comment holds what Slurm has
// no fields for. It only produces text; it starts nothing and reads nothing of the machine.
//
// # Invariants
//
//  1. An option is carried out, or the whole request is refused with what would have to change.
//     Nothing is left out unless Submission.Notes mentions it.
//  2. Whatever the bytes of a request are, they become arguments of one program or quoted words of
//     the script. No shell and no sbatch interprets them.
//  3. The script begins with its first command: no line of it is an option for sbatch.
package sbatch
