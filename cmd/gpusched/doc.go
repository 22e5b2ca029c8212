// Command gpusched is the command line. This package has its name, its version and settings of Go's
// runtime; package client has all else.
package main
