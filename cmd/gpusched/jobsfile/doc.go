// Package jobsfile reads and writes the jobs files of other schedulers, in three formats: a command
// per line; a line with priority, script, conda environment, arguments and allowed GPUs; and blocks
// of command, num_gpus and priority. It owns their grammar and says which line is wrong. It only
// handles text.
package jobsfile
