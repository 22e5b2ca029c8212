// Package slurm translates the options of sbatch in people's scripts into options of gpusched
// submit. It owns which of them mean something on one machine, which mean nothing and are
// mentioned, and which can't be carried out and are refused. The same table, with writers of values
// beside the readers (Word, Span, Dependencies), also serves for talking to a Slurm. The package
// only produces text.
package slurm
