// Package parse reads command lines by a grammar that it is given: the parser, its short and long help, and what it
// says of words that are wrong or that another tool would take.
package parse
