// Package parse reads command lines by a given grammar: the parser, its short and long help, and
// the errors about words that are wrong or belong to another tool.
package parse
