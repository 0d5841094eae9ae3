package otlp

import "net/http"

// SetTransport replaces the way to the collector.
func SetTransport(e *Exporter, to http.RoundTripper) { e.client.Transport = to }
