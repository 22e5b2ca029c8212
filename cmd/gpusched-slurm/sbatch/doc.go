// Package sbatch says a request for a job as Slurm's sbatch, srun and scontrol take it:
// options, and a script that becomes the job's command byte for byte. It owns what each
// wish is there, which of them a Slurm can't keep and why, and what of a job Slurm has no
// place for and how its comment holds that. It only makes text; it starts nothing and
// reads nothing of the machine.
//
// # Invariants
//
//  1. A wish is kept, or the whole request is refused with what would have to be
//     different. Nothing is left out but what Submission.Notes names.
//  2. Whatever the bytes of a request are, they are arguments of one program or quoted
//     words of the script: none of them is read as a shell's or as sbatch's language.
//  3. The script begins with its first command: no line of it is one for sbatch.
package sbatch
