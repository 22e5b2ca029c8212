package cuda

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

//go:embed c/cudasum.c
var source []byte

// Name is what the program is called.
const Name = "cudasum"

// compileLimit is for a compiler on a host under load.
const compileLimit = 5 * time.Minute

// Build compiles the program into dir and returns its path. It needs cc.
func Build(ctx context.Context, dir string) (path string, err error) {
	work, err := os.MkdirTemp("", "cudasum-")
	if err != nil {
		return "", fmt.Errorf("build %s: %w", Name, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	text := filepath.Join(work, "cudasum.c")
	if err := os.WriteFile(text, source, 0o600); err != nil {
		return "", fmt.Errorf("build %s: %w", Name, err)
	}
	path = filepath.Join(dir, Name)
	argv := []string{"cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", path, text, "-ldl"}
	if _, err := await.Output(ctx, compileLimit, argv); err != nil {
		return "", fmt.Errorf("build %s: %w", Name, err)
	}
	return path, nil
}
