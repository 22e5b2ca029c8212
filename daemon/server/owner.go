package server

import (
	"context"
	"errors"
	"strconv"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// parseOwner returns the owner of the jobs that a request asks for, in the form of job.Query. A
// name selects jobs that were submitted under that name, even if the account is gone. A uid selects
// all jobs of that uid. The caller's own uid is an exception: it selects only jobs of the caller's
// account, because another account may have had the uid earlier. Without a name and uid, the jobs
// of all users are selected.
func (s *Server) parseOwner(r *request, uid *int, name string) (_ *int, user string, err error) {
	if name == "" {
		if uid != nil && *uid == r.who.UID {
			user = r.who.User
		}
		return uid, user, nil
	}
	uid, err = s.accounts.parseUser(r.person, name)
	switch {
	case uid != nil && name != strconv.Itoa(*uid):
		return uid, s.accounts.userName(*uid), nil // a directory service may have several names for the account
	case uid != nil || !isNoAccount(err):
		return uid, "", err
	}
	return nil, name, s.hadJobs(r, name)
}

// parseUser returns the uid of the account with this name. The argument asker is the uid that is
// charged for the search. An account without a name can be given by its uid.
func (a *accounts) parseUser(asker int, name string) (*int, error) {
	uid, ok, err := a.opt.UserID(asker, name)
	if ok {
		return &uid, nil
	}
	if err != nil {
		return nil, job.Refuse("unavailable/directory", name, err)
	}
	return parseUID(name)
}

// parseUID parses the uid of an account. It returns nil for "".
func parseUID(text string) (*int, error) {
	if text == "" {
		return nil, nil
	}
	uid, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return nil, noAccount(text)
	}
	n := int(uid)
	return &n, nil
}

func noAccount(name string) *api.Error { return usagef("no account named %q on this machine", name) }

func isNoAccount(err error) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Code == api.CodeUsage
}

// hadJobs returns an error if no job on record was submitted under this name.
func (s *Server) hadJobs(r *request, name string) error {
	live, err := s.backend(r.Context()).Names(r.Context(), job.Query{User: name})
	if err != nil || len(live) > 0 {
		return err
	}
	leave, err := s.limits.takeReportSlot(r)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(r.Context(), historyTime)
	defer cancel()
	past, err := s.backend(ctx).Past(ctx, job.PastQuery{User: name, Limit: 1})
	if err == nil && len(past.Jobs) == 0 {
		err = noAccount(name)
	}
	return err
}
