package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

const (
	postTime   = 30 * time.Second // for all of it
	maxHeader  = 64 << 10
	maxAnswer  = 4 << 10 // of what a server says besides its status, which nobody looks at
	maxConnect = 10 * time.Second
)

// post sends the message to a URL. A redirection counts as an answer that is none: what
// it leads to nobody has chosen.
func post(ctx context.Context, m *contract.Message) error {
	u, err := url.Parse(m.To)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return refused("its URL is not one of http or https")
	}
	ctx, cancel := context.WithTimeout(ctx, postTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), strings.NewReader(m.Body))
	if err != nil {
		return refused("its URL can't be used")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "gpusched/"+version)
	req.Header.Set("Idempotency-Key", m.ID)
	client := &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxResponseHeaderBytes: maxHeader,
			TLSHandshakeTimeout: maxConnect, DisableKeepAlives: true, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", u.Hostname(), bare(err))
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer)
	switch code := answer.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code >= 300 && code < 400:
		return refusal{answered{u.Hostname(), fmt.Sprintf("redirects (%d), which is not followed", code)}}
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		return answered{u.Hostname(), fmt.Sprintf("answered %d %s", code, http.StatusText(code))}
	default:
		return refusal{answered{u.Hostname(), fmt.Sprintf("answered %d %s", code, http.StatusText(code))}}
	}
}

// answered is what a server did that was reached.
type answered struct{ host, did string }

func (a answered) Error() string { return a.host + " " + a.did }

// ofSite is a failure of one of the site's webhooks: where that is, is for administrators,
// who find it in the unit's journal.
type ofSite struct{ error }

func (e ofSite) Unwrap() error { return e.error }

// posted is how posting went, and whether its user may know all of that.
func posted(err error, site bool) error {
	if err != nil && site {
		return ofSite{err}
	}
	return err
}

// told is what everybody may know of a failure.
func told(err error) string {
	var hidden ofSite
	if !errors.As(err, &hidden) {
		return err.Error()
	}
	return class(err)
}

// class says what kind of failure it was, without names, addresses and ports.
func class(err error) string {
	var (
		answer  answered
		name    *net.DNSError
		trust   *tls.CertificateVerificationError
		timeout net.Error
	)
	switch {
	case errors.As(err, &answer):
		return "the webhook " + answer.did
	case errors.As(err, &timeout) && timeout.Timeout():
		return "the webhook's server did not answer in time"
	case errors.As(err, &name):
		return "the webhook's host name was not found"
	case errors.Is(err, unix.ECONNREFUSED):
		return "the webhook's server refused the connection"
	case errors.As(err, &trust):
		return "the certificate of the webhook's server is not trusted"
	}
	return "the webhook's server could not be reached"
}

// bare is an error of the client without the URL, in which there may be a secret.
func bare(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
