package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// checkout copies the files that git knows or would add into dir.
func checkout(ctx context.Context, dir string) error {
	out, err := await.Output(ctx, time.Minute, []string{"git", "ls-files", "-z", "--cached", "--others",
		"--exclude-standard"})
	if err != nil {
		return fmt.Errorf("list the files of the checkout: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue // removed, and not yet committed
		}
		if err != nil {
			return err
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// source is one file to change.
type source struct{ pkg, name string }

// sources are the files of the packages in the order in which they are taken: one
// of each package in turn, as the seed has it.
func sources(o options) ([]source, error) {
	draw := rand.New(rand.NewPCG(o.seed, 0))
	queues := make([][]source, len(o.packages))
	for i, pkg := range o.packages {
		paths, err := filepath.Glob(filepath.Join(pkg, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			name := filepath.Base(path)
			if strings.HasSuffix(name, "_test.go") || name == "doc.go" ||
				len(o.files) > 0 && !slices.Contains(o.files, name) {
				continue
			}
			queues[i] = append(queues[i], source{pkg, name})
		}
		draw.Shuffle(len(queues[i]), func(a, b int) { queues[i][a], queues[i][b] = queues[i][b], queues[i][a] })
	}
	var all []source
	for left := true; left; {
		left = false
		for i, q := range queues {
			if len(q) > 0 {
				all, queues[i], left = append(all, q[0]), q[1:], true
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no file to change in %s", strings.Join(o.packages, ", "))
	}
	return all, nil
}
