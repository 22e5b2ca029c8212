package contract

// Message is what gpusched-notify is given to send, as JSON on its standard input. It
// was checked before: the address and the URL are plain, and there is one of them at most.
type Message struct {
	Way     string `json:"way"`     // mail, webhook or terminal
	To      string `json:"to"`      // the address, or the URL
	Host    string `json:"host"`    // of the machine
	ID      string `json:"id"`      // of the message: one that is sent twice has the same
	Subject string `json:"subject"` // one line
	Body    string `json:"body"`    // of a mail its text, of a webhook the JSON

	// OfSite says that To is a webhook of the site's: its user is not told where that is.
	OfSite bool `json:"of_site,omitempty"`
}

// MaxMessageBytes bounds a Message in JSON.
const MaxMessageBytes = 256 << 10

// MessagePrefix begins the names of the units that messages are sent in.
const MessagePrefix = "gpusched-notify-"

// The exit statuses of gpusched-notify besides 0. What it could not do is the status
// that it tells the service manager.
const (
	MessageRefused = 1  // no further try does better
	MessageAgain   = 75 // EX_TEMPFAIL: a further try may
)
