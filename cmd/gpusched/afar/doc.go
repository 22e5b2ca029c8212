// Package afar makes the gpusched of other machines answer or carry out a command line, by ssh
// (package remote), and puts the machine's name on whatever they answer.
package afar
