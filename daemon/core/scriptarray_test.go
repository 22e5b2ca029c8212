package core_test

import "github.com/gpusched/gpusched/daemon/job"

// stand job=N: the states of an array's tasks that are jobs.
func (s *script) stand() {
	v := s.w.core.View(job.Query{IDs: []job.ID{s.id()}}, s.w.now).Jobs[0].LiveTasks
	s.log("array %d: %v wait again, %d of them held, %v run", s.id(), v.Waiting, v.Held, v.Running)
}

// limits job=N: its time limit and priority.
func (s *script) limits() {
	r := s.w.core.View(job.Query{IDs: []job.ID{s.id()}}, s.w.now).Jobs[0].Request
	s.log("job %d has %s, priority %s", s.id(), r.TimeLimit, r.Priority)
}
