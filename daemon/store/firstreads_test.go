package store

import (
	"context"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Just after a store was opened, many first reads may come at the same time. All of them succeed,
// however the store was opened.
func TestFirstReadsAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := openAt(t, path)
	keyed := runningJob(1)
	keyed.Key = "key"
	commit(t, s, job.Record{Job: keyed, Payload: payload()})
	for range 5 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openAt(t, path)
		r, err := Open(context.Background(), path, Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []*Store{s, r} {
			firstReads(t, s, keyed)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// firstReads reads the job in many goroutines.
func firstReads(t *testing.T, s *Store, want *job.Job) {
	t.Helper()
	var group sync.WaitGroup
	begin := make(chan struct{})
	for range 4 * connections(reading) {
		group.Go(func() {
			<-begin
			list, err := s.Jobs(context.Background(), []job.ID{want.ID})
			if err != nil || !reflect.DeepEqual(list, []job.Job{*want}) {
				t.Errorf("the job: %+v, %v", list, err)
			}
			if id, _, err := s.ByKey(context.Background(), want.Owner.UID, want.Key); err != nil || id != want.ID {
				t.Errorf("its key is that of job %d: %v", id, err)
			}
		})
	}
	close(begin)
	group.Wait()
}

// Reading one job takes only the connection of its transaction: in this test there is no other
// connection. Time in the synctest bubble passes only when every goroutine waits.
func TestOneJobTakesOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openNew(t)
		commit(t, s, job.Record{Job: runningJob(1), Payload: payload()})
		s.read.SetMaxOpenConns(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		list, err := s.Jobs(ctx, []job.ID{1})
		requireEqual(t, err, list, []job.Job{*runningJob(1)})
	})
}
