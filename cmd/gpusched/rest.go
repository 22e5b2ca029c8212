//go:build !quick

package main

import "context"

// rest is what start leaves: other tools' names, help, mistakes, and what is rare.
func rest(ctx context.Context, a *app, name string, args []string) int {
	a.listen()
	return runAs(ctx, a, name, args)
}
