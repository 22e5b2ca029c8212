// Package afar has the gpusched of other machines answer a command line or carry it out, by ssh (package remote), and
// names what they answer with their machine.
package afar
