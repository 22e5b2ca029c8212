// Package subuid reads subuid(5), the uid ranges that users' containers run as. The daemon counts
// these uids as the user's own, and the doctor reports which lines the daemon ignores: both use
// this parser.
package subuid
