// Package released checks that what a release promised to keep is still there.
package released
