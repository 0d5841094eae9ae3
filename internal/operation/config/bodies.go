package config

import (
	"time"

	"github.com/ridethrough/ridethrough/gateway"
)

// spool bounds what the bodies of requests take; zero: the gateway's defaults.
type spool struct {
	memory, disk int64
	dir          string
}

// spools is the codec of a spool.
func spools() codec[spool] {
	return object(
		&schema{name: "spool", about: "What request bodies may take, all together.", expected: "memory, disk and dir"}, nil,
		newField("memory", size(), func(s *spool) *int64 { return &s.memory }, fieldDoc{"The memory for bodies that arrive, are sent or wait. Those that wait are compressed. The rest goes to disk. The default is less where the memory limit (GOMEMLIMIT) is below 256 MiB: a quarter of it.", "64MiB", ""}),
		newField("disk", size(), func(s *spool) *int64 { return &s.disk }, fieldDoc{"The size of the spool file. A request that does not fit is rejected with status 503 and Retry-After.", "2GiB", ""}),
		newField("dir", anyName("a path"), func(s *spool) *string { return &s.dir }, fieldDoc{"The directory of the spool file, relative to the configuration file. The file is deleted when the process ends.", "", "the system's directory for temporary files"}),
	)
}

// receive bounds how slowly a client may send a body; zero: the gateway's defaults.
type receive struct {
	time time.Duration
	rate int64
}

// receives is the codec of the limits on receiving.
func receives() codec[receive] {
	return object(
		&schema{name: "receive", about: "How slowly a client may send a body.", expected: "time and rate"}, nil,
		newField("time", limit(), func(r *receive) *time.Duration { return &r.time }, fieldDoc{"How long a client may take for all of a body.", "10m", ""}),
		newField("rate", size(), func(r *receive) *int64 { return &r.rate }, fieldDoc{"The least that must arrive per second, on average, once 30 s have passed.", "16KiB", ""}),
	)
}

// detached has the answers of clients that leave read on; zero: of none.
type detached struct {
	agents []string
	time   time.Duration
	bytes  int64
	from   string
}

// What a detached answer is read on from.
const (
	fromContent = "content"
	fromRequest = "request"
)

// detaches is the codec of detached.
func detaches() codec[detached] {
	return object(
		&schema{name: "detached", about: "Answers that are read on although the client has left, for when it sends the same request again.", expected: "agents, time, bytes and from"}, nil,
		newField("agents", seq[*[]string]("a list of agents", anyName("the beginning of a User-Agent, or all")), func(d *detached) *[]string { return &d.agents }, fieldDoc{"The clients for which this is done, by how their `User-Agent` or `Originator` begins: `codex`, `claude-cli`. `all` is every client.", "", "none"}),
		newField("time", duration(), func(d *detached) *time.Duration { return &d.time }, fieldDoc{"How long an answer is read on after the client has left, and how long it is kept when it is whole.", "5m", ""}),
		newField("bytes", size(), func(d *detached) *int64 { return &d.bytes }, fieldDoc{"The largest answer that is kept.", "8MiB", ""}),
		newField("from", oneOf("content or request", fromContent, fromRequest), func(d *detached) *string { return &d.from }, fieldDoc{"What is read on: `content` is an answer that has begun, `request` also a try that has no answer so far. An answer that is not streamed comes whole, and needs `request`.", fromContent, ""}),
	)
}

// gateway returns it as the gateway's.
func (d detached) gateway() gateway.Detached {
	return gateway.Detached{Agents: d.agents, Time: d.time, Bytes: d.bytes, Tries: d.from == fromRequest}
}

// over returns other with the limits that the file sets.
func (r receive) over(other gateway.Receive) *gateway.Receive {
	setLimit(&other.Time, r.time)
	if r.rate > 0 {
		other.Rate = r.rate
	}
	return &other
}
