// Package slurm reads the options of sbatch as they stand in the scripts of people
// who come from Slurm, and says them as options of gpusched submit. It owns which of
// them mean something on one machine, which mean nothing and are named, and which
// would be broken promises and are refused. What is said to a Slurm is said by the
// same table, in values beside those that are read (Word, Span, Dependencies). It only
// makes text.
package slurm
