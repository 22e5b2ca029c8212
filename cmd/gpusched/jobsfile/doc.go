// Package jobsfile reads and writes the jobs files of other schedulers. There are three formats:
// one command on each line; lines with priority, script, conda environment, arguments and allowed
// GPUs; and blocks of command, num_gpus and priority. The package owns the grammar of these formats
// and reports wrong lines. It only handles text.
package jobsfile
