// Package slurm translates sbatch's options in people's scripts into options of gpusched submit. It
// decides which options mean something on one machine, which mean nothing and are only mentioned,
// and which are refused. The same table is also used for jobs that go to a Slurm: Word, Span,
// Dependencies and others write values in Slurm's form. The package only produces text.
package slurm
