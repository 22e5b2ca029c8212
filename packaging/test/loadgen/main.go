package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/packaging/test/await"
)

// shares are the GPUs that the jobs request in turn, in thousandths of a GPU.
var shares = []int{0, 1000, 500, 0, 2000, 500}

func main() {
	pace := flag.Duration("pace", 0, "time between two jobs")
	hold := flag.Bool("hold", false, "hold the jobs")
	flag.Parse()
	count, err := strconv.Atoi(flag.Arg(1))
	if err == nil && flag.NArg() > 2 {
		err = submitAll(flag.Arg(0), count, *pace, *hold, flag.Args()[2:])
	} else {
		err = errors.New("usage: loadgen [-pace TIME] [-hold] NAME COUNT CMD…")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "loadgen:", err)
		os.Exit(1)
	}
}

func submitAll(name string, count int, pace time.Duration, hold bool, argv []string) error {
	client := &api.Client{}
	for n := 1; n <= count; n++ {
		id, err := submit(client, request(name, n, hold, argv), n%3 == 0)
		if err == nil {
			_, err = fmt.Printf("%s-%d %d\n", name, n, id)
		}
		if err != nil {
			return fmt.Errorf("job %d of %d: %w", n, count, err)
		}
		time.Sleep(pace)
	}
	return nil
}

func request(name string, n int, hold bool, argv []string) api.SubmitRequest {
	words := strings.NewReplacer("{n}", strconv.Itoa(n), "{code}", strconv.Itoa(n%5))
	r := api.SubmitRequest{
		Key: fmt.Sprintf("%s-%d-%d", name, n, rand.Uint64()), Label: job.Label{Name: fmt.Sprintf("%s-%d", name, n)},
		Request: job.Request{GPUMilli: shares[n%len(shares)], Hold: hold},
		Program: api.Program{EnvMode: "clean", Dir: "/", Umask: 0o22},
	}
	if r.Request.GPUMilli > 0 {
		r.Request.GPUsFrom = []int{0, 1, 2, 3} // then no GPU becomes suspect because jobs fail there
	}
	for _, word := range argv {
		r.Argv = append(r.Argv, words.Replace(word))
	}
	return r
}

// submit sends a request until the job is acknowledged. If cutOff is set, the first attempt is cut
// off.
func submit(client *api.Client, r api.SubmitRequest, cutOff bool) (int64, error) {
	if cutOff {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(5000))*time.Microsecond)
		client.Submit(ctx, r) // the result does not matter: the next request has the same key
		cancel()
	}
	var reply api.SubmitReply
	err := await.Until(context.Background(), "an acknowledgement of "+r.Name, time.Minute, 20*time.Millisecond,
		func(ctx context.Context) (string, bool, error) {
			var err error
			reply, err = client.Submit(ctx, r)
			var e *api.Error
			if errors.As(err, &e) && e.Code != api.CodeUnreachable && e.Code != api.CodeUnavailable {
				return "", false, err // the daemon refused the job
			}
			return fmt.Sprint(err), err == nil, nil
		})
	return int64(reply.Job.ID), err
}
