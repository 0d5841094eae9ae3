package gatewaycmd

import (
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// expiresSoon is how long before its end a certificate is a warning.
const expiresSoon = 14 * 24 * time.Hour

// certificate returns how the gateway serves with TLS, and logs the certificate and each later one; nil: without
// TLS.
func certificate(c *config.Config, env func(string) string, log *slog.Logger) (*tls.Config, error) {
	report := func(pair *tls.Certificate, err error) {
		switch {
		case err != nil:
			log.Error("read certificate failed, the previous one stays in use", "error", err.Error())
		case time.Until(pair.Leaf.NotAfter) < expiresSoon:
			log.Warn("the certificate expires soon", "names", pair.Leaf.DNSNames, "expires", pair.Leaf.NotAfter)
		default:
			log.Info("certificate", "names", pair.Leaf.DNSNames, "expires", pair.Leaf.NotAfter)
		}
	}
	made, err := c.TLS(env, report)
	if made != nil {
		pair, _ := made.GetCertificate(nil)
		report(pair, nil)
	}
	return made, err
}
