package transport

import "time"

// Limits bounds a try. Whoever enforces them deletes this file.
type Limits struct{ FirstByte, Idle time.Duration }
