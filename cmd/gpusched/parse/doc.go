// Package parse reads command lines according to a grammar. It has the parser, the short and the
// long help, and the errors about words that are wrong or belong to other tools.
package parse
