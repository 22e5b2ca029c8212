package units

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/units/contract"
)

// MessageSpec describes the unit that sends one message.
type MessageSpec struct {
	Job     int64  // 0: the message is to a user, and not about a job of that user
	Event   string // start or end, or user
	Number  int    // counts the job's messages about that event; to a user: tells the messages apart
	Program string // absolute path of gpusched-notify
	File    string // absolute path of its input, which only root can read
	UID     int    // of the job's owner, or of the user
	GID     int    // 0: the account's own group
	OfSite  bool   // true: sent by the site, under a dynamic account; false: by the job's owner
	Scope   Scope  // of the systemd that runs the unit
}

// Limits of a unit that sends a message.
const (
	messageTime   = 2 * time.Minute // from its start to its end
	messageGrace  = 5 * time.Second
	messageMemory = 256 << 20
	messageTasks  = 64
)

// MessageName returns the name of the unit that sends a message.
func MessageName(s MessageSpec) string {
	if s.Job == 0 {
		return fmt.Sprintf("%s%s-%d-%d%s", contract.MessagePrefix, s.Event, s.UID, s.Number, contract.UnitSuffix)
	}
	return fmt.Sprintf("%s%d-%s-%d%s", contract.MessagePrefix, s.Job, s.Event, s.Number, contract.UnitSuffix)
}

// MessageProperties returns the properties of the unit. The unit opens no GPU. Apart from that, it
// may do what its user may do in a shell, because a mail program may be set-uid and reads its
// user's settings. A message of the site runs under an account that exists only as long as the
// unit.
func MessageProperties(s MessageSpec) []Property {
	about := fmt.Sprintf("gpusched message about job %d", s.Job)
	if s.Job == 0 {
		about = fmt.Sprintf("gpusched message to uid %d", s.UID)
	}
	e := errand{
		about: about, command: []string{s.Program}, log: "gpusched-notify",
		time: messageTime, grace: messageGrace, memory: messageMemory, tasks: messageTasks,
	}
	p := append(e.properties(), []Property{
		{"StandardInputFile", s.File},
		{"DevicePolicy", "closed"},
		{"DeviceAllow", []DeviceAllow{{"char-tty", "rw"}}},
	}...)
	if s.OfSite {
		return s.Scope.applicable(append(p, Property{"DynamicUser", true}))
	}
	p = append(p, Property{"Slice", s.Scope.Slice(s.UID)}, Property{"User", strconv.Itoa(s.UID)})
	if s.GID != 0 {
		p = append(p, Property{"Group", strconv.Itoa(s.GID)})
	}
	return s.Scope.applicable(p)
}
