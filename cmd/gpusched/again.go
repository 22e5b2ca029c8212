package main

import "context"

type againFlags struct{}

func (againFlags) again(_ context.Context, _ *app, _ outputFlags, show func() error) error {
	return show()
}
