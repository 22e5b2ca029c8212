// Package afar sends command lines to the gpusched of other machines by ssh (package remote), to be
// answered or carried out there. It adds the machine's name to everything in the answers.
package afar
