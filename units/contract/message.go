package contract

// Message is the JSON input of gpusched-notify. It has been validated: the address and the URL are
// plain text, and there is at most one of them.
type Message struct {
	Way     string `json:"way"`     // mail, webhook or terminal
	To      string `json:"to"`      // the address, or the URL
	Host    string `json:"host"`    // of the machine
	ID      string `json:"id"`      // a message that is sent twice has the same id
	Subject string `json:"subject"` // one line
	Body    string `json:"body"`    // text of a mail, or JSON for a webhook

	// OfSite means that To is a webhook of the site, which the user must not learn.
	OfSite bool `json:"of_site,omitempty"`
}

// MaxMessageBytes is the maximum size of a Message in JSON.
const MaxMessageBytes = 256 << 10

// MessagePrefix begins the names of units that send messages.
const MessagePrefix = "gpusched-notify-"

// ProofPrefix begins the names of units that test a GPU with CUDA.
const ProofPrefix = "gpusched-test-"

// ParkPrefix and UnparkPrefix begin the names of units that park a job, and that undo it.
const (
	ParkPrefix   = "gpusched-park-"
	UnparkPrefix = "gpusched-unpark-"
)

// The exit statuses of gpusched-notify after a failure. Its status line to the service manager says
// what failed.
const (
	MessageRefused = 1  // further tries would fail too
	MessageAgain   = 75 // EX_TEMPFAIL: a further try may succeed
)
