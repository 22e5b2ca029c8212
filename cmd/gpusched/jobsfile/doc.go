// Package jobsfile reads and writes the files of jobs that other schedulers have: a
// command for each line; a line with priority, script, conda environment, arguments
// and allowed GPUs; and command, num_gpus and priority below each other. It owns
// their grammar and says which line is wrong. It only reads text.
package jobsfile
