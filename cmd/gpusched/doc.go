// Command gpusched is the command line: its name, version and settings of Go's runtime. All else is below, in client.
package main
