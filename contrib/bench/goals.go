package main

// A goal is for a figure against another.
type goal struct{ figure, against string }

// goals are what the figures are to become, as they were set before it was tried.
var goals = map[goal]string{
	{ofStart, bareUnit}:              "≤ 1.6",
	{ofStart, systemdRun}:            "< 1",
	{ofHandover, bareUnit}:           "≤ 1.3",
	{ofRate, bareUnit}:               "≥ 0.9",
	{ofSubmit, sbatch}:               "≥ 1.5",
	{"gpusched version", goHello}:    "≤ 1.5; 2.5 ms",
	{"gpusched list", goHello}:       "3 ms",
	{in(10_000, ofIDs), goHello}:     "30 ms",
	{in(100_000, "list"), goHello}:   "30 ms",
	{in(100_000, "status"), goHello}: "30 ms",
	{in(100_000, "show"), goHello}:   "30 ms",
	{in(100_000, "why"), goHello}:    "30 ms",
	{in(100_000, ofMemory), oneMiB}:  "120 MiB",
	{in(100_000, ofKill), hashing}:   "1 s",
	{in(100_000, ofCancel), hashing}: "5 s",
	{overSbatch, goHello}:            "15 ms",
	{ofDaemonCPU, bareCPU}:           "1 ms",
}
