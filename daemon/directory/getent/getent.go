package getent

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/directory"
)

// Program is the path of getent(1), which is part of every C library.
const Program = "/usr/bin/getent"

// limit is the time that a question may take. It is shorter than the daemon's wait.
const limit = 4 * time.Second

// notFound is the exit status of getent if a key is not in the database.
const notFound = 2

// Resolver answers questions by running a program such as getent(1).
type Resolver struct {
	Program string
}

// Answer answers one question.
func (r Resolver) Answer(ctx context.Context, q directory.Query) directory.Answer {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	a, err := r.answer(ctx, q)
	if ctx.Err() != nil {
		err = errors.New("the C library's name service gave no answer in time")
	}
	if err != nil {
		return directory.Answer{Error: err.Error()}
	}
	return a
}

func (r Resolver) answer(ctx context.Context, q directory.Query) (directory.Answer, error) {
	if !q.Valid() {
		return directory.Answer{}, fmt.Errorf("invalid question: %q %q", q.Kind, q.Key)
	}
	switch q.Kind {
	case directory.UserByName, directory.UserByID:
		a, _, err := r.findEntry(ctx, "passwd", q.Key)
		return a, err
	case directory.GroupByName, directory.GroupByID:
		a, _, err := r.findEntry(ctx, "group", q.Key)
		return a, err
	}
	return r.groups(ctx, q.Key)
}

// findEntry looks up a key in a database. It returns the answer, and the fields of the printed line
// NAME:PASSWORD:NUMBER:….
func (r Resolver) findEntry(ctx context.Context, database, key string) (directory.Answer, []string, error) {
	line, err := r.ask(ctx, database, key)
	if line == "" || err != nil {
		return directory.Answer{}, nil, err
	}
	fields := strings.Split(line, ":")
	if len(fields) < 4 {
		return directory.Answer{}, nil, fmt.Errorf("getent %s: a line of %d fields", database, len(fields))
	}
	id, err := strconv.ParseUint(fields[2], 10, 31)
	if err != nil { // an invalid entry does not mean that the name service fails
		return directory.Answer{}, nil, nil
	}
	return directory.Answer{Found: true, Name: fields[0], ID: int(id)}, fields, nil
}

// groups returns the gids of all groups of an account, sorted.
func (r Resolver) groups(ctx context.Context, uid string) (directory.Answer, error) {
	a, fields, err := r.findEntry(ctx, "passwd", uid)
	if !a.Found || err != nil {
		return directory.Answer{}, err
	}
	line, err := r.ask(ctx, "initgroups", a.Name)
	if err != nil {
		return directory.Answer{}, err
	}
	numbers := append(strings.Fields(strings.TrimPrefix(line, a.Name)), fields[3])
	for _, n := range numbers {
		if gid, err := strconv.ParseUint(n, 10, 31); err == nil {
			a.Groups = append(a.Groups, int(gid))
		}
	}
	slices.Sort(a.Groups)
	a.Groups = slices.Compact(a.Groups)
	return a, nil
}

// ask returns the first line that the program prints, or "" if the key was not found.
func (r Resolver) ask(ctx context.Context, database, key string) (string, error) {
	cmd := exec.CommandContext(ctx, r.Program, database, "--", key)
	cmd.Env = []string{"LC_ALL=C.UTF-8"}
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == notFound {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("getent %s: %w", database, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line, nil
}
