// Package subuid parses subuid(5), the file with the uid ranges of users' containers.
// The daemon counts such uids as the user's own.
// The doctor reports which lines the daemon ignores. Both use this parser.
package subuid
