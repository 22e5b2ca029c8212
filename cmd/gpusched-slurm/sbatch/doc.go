// Package sbatch translates job requests for Slurm's sbatch, srun and scontrol. The result is a set
// of options, and a script that runs the job's command byte for byte. The package owns the meaning
// of each option on Slurm, and the reasons why a Slurm cannot carry out some of them. It also owns
// the form in which a job's comment stores data for which Slurm has no fields. The package only
// produces text: it starts nothing and reads nothing from the machine.
//
// # Invariants
//
//  1. Each option is carried out, or the whole request is refused, and the error names the change
//     that is needed. Nothing is left out unless Submission.Notes mentions it.
//  2. Whatever bytes a request contains, they become arguments of one program or quoted words of
//     the script. Neither a shell nor sbatch interprets them.
//  3. The script begins with its first command. None of its lines is an option for sbatch.
package sbatch
