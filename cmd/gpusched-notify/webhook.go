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
	postTimeout = 30 * time.Second // limit of the whole request
	maxHeader   = 64 << 10
	maxAnswer   = 4 << 10 // bytes of the body that are read and ignored
	maxConnect  = 10 * time.Second
)

// post sends the message to a URL. A redirection is a failure: nobody chose its target.
func post(ctx context.Context, m *contract.Message) error {
	u, err := url.Parse(m.To)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return refused("the URL must begin with http:// or https:// and a host name")
	}
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), strings.NewReader(m.Body))
	if err != nil {
		return refused("the URL is invalid")
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
		return fmt.Errorf("%s: %w", u.Hostname(), withoutURL(err))
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer)
	switch code := answer.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code >= 300 && code < 400:
		return refusal{statusError{u.Hostname(), fmt.Sprintf("redirects (%d), which is not followed", code)}}
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		return statusError{u.Hostname(), fmt.Sprintf("answered %d %s", code, http.StatusText(code))}
	default:
		return refusal{statusError{u.Hostname(), fmt.Sprintf("answered %d %s", code, http.StatusText(code))}}
	}
}

// A statusError is a server's answer that reports a failure.
type statusError struct{ host, did string }

func (a statusError) Error() string { return a.host + " " + a.did }

// ofSite is a failure of a webhook of the site. Only administrators may see the webhook's address;
// they find it in the unit's journal.
type ofSite struct{ error }

func (e ofSite) Unwrap() error { return e.error }

// markSite marks a failure whose details the job's user must not see.
func markSite(err error, site bool) error {
	if err != nil && site {
		return ofSite{err}
	}
	return err
}

// publicReason returns the part of a failure that every user may know.
func publicReason(err error) string {
	var hidden ofSite
	if !errors.As(err, &hidden) {
		return err.Error()
	}
	return failureKind(err)
}

// failureKind names the kind of failure, without names, addresses and ports.
func failureKind(err error) string {
	var (
		answer  statusError
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

// withoutURL removes the URL from a client error: a URL may contain a secret.
func withoutURL(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
