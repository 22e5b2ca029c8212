// Command gpusched is the command line. This package contains only its name, its version and its
// settings of the Go runtime. All else is in package client.
package main
