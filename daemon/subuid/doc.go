// Package subuid parses subuid(5), the file that gives users ranges of uids for their containers.
// The daemon treats such uids as the user's own. The doctor reports which lines the daemon ignores.
// Both use this parser.
package subuid
