package main

// A goal is for a figure against another.
type goal struct{ figure, against string }

// goals are what the figures are to keep.
var goals = map[goal]string{
	{ofStart, systemdRun}:           "≤ 1.7",
	{ofRate, bareUnit}:              "≥ 0.9",
	{ofSubmit, sbatch}:              "≥ 0.7",
	{"gpusched version", goHello}:   "6 ms",
	{in(10_000, ofIDs), goHello}:    "50 ms",
	{in(100_000, ofMemory), oneMiB}: "300 MiB",
	{in(100_000, ofKill), hashing}:  "3 s",
}
