package words

import (
	"encoding/json"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// A message has the same sentence after it was stored, whether it has a code or free text.
func TestARecordedMessageReadsAsBefore(t *testing.T) {
	left := job.Say("detail/out-of-service", 3, job.Say("detail/ghost", job.Size(20<<30+1)))
	taken := job.Reason{Code: job.ReasonGPUForeign, Foreign: []job.Foreign{{PID: 7, User: "bob", Bytes: 3 << 30}}}
	sick := job.Reason{Code: job.ReasonGPUSick, Detail: job.Say("detail/ghost", job.Size(1<<30))}
	for want, m := range map[string]job.Message{
		"": {},
		"the machine was restarted while the job ran": job.Text("the machine was restarted while the job ran"),
		"how it ended is unknown":                     job.Say("detail/unknown-end"),
		"after it ended, GPU 3 was out of service: 20G of its memory is in use by no process": left,
		"job 1000000000 failed, so --after-ok 1000000000 can never be met":                    job.Say("detail/unmet", "1000000000", job.Failed, job.AfterOK, job.ID(1_000_000_000)),
		"GPU 1 is in use outside gpusched: bob's process 7 has 3G":                            job.Say("detail/gpu-is", 1, taken),
		"GPU 1 is out of service (1G of its memory is in use by no process)":                  job.Say("detail/gpu-is", 1, sick),
		"detail/of-tomorrow 3": job.Say("detail/of-tomorrow", 3), // invariant 3: an unknown code
	} {
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var back job.Message
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if Say(m) != want || Say(back) != want || back.IsZero() != m.IsZero() {
			t.Errorf("%s reads %q, was %q, want %q", text, Say(back), Say(m), want)
		}
	}
	var m job.Message
	for _, bad := range []string{"7", "[]", `{"say":1}`, `{"say":"x","args":7}`, `{"say":"x","args":[{"gpu":"0"}]}`, "nul"} {
		if err := json.Unmarshal([]byte(bad), &m); err == nil {
			t.Errorf("%s is read as %v", bad, m)
		}
	}
}
