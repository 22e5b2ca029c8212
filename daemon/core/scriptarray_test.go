package core_test

import "github.com/gpusched/gpusched/daemon/job"

// stand job=N: print the states of the tasks of an array that have become jobs.
func (s *script) stand() {
	v := s.w.core.View(job.Query{IDs: []job.ID{s.id()}}, s.w.now).Jobs[0].LiveTasks
	s.log("array %d: %v wait again, %d of them held, %v run", s.id(), v.Waiting, v.Held, v.Running)
}

// limits job=N: print the job's time limit and priority.
func (s *script) limits() {
	r := s.w.core.View(job.Query{IDs: []job.ID{s.id()}}, s.w.now).Jobs[0].Request
	s.log("job %d has %s, priority %s", s.id(), r.TimeLimit, r.Priority)
}
