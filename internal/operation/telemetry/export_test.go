package telemetry

import "github.com/ridethrough/ridethrough/internal/operation/metrics"

// Families describes all metrics of t.
func (t *Telemetry) Families() []metrics.Family { return t.registry.Families() }
