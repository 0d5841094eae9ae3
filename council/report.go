package council

import (
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// report reports an event of a member to OnReport: its tries are made here, and not by its agent.
func (m *memberRun) report(e turn.Event) { m.send(agent.Report{Event: e}) }

func (m *memberRun) send(r agent.Report) {
	if m.OnReport != nil {
		r.At, r.Name = time.Now(), m.agent.Model.Name()
		m.OnReport(m.number, r)
	}
}

// reportTry reports a try of a member, and that its model answers again.
func (m *memberRun) reportTry(t retry.Try) {
	if t.Fault != nil && t.Fault.Kind == fault.Canceled {
		return // it was cut off
	}
	m.last = t
	m.send(agent.Report{Try: t})
	if t.Recovered() {
		m.report(turn.Recovered{Name: m.agent.Model.Name(), Retries: t.Run.Tries, Waited: t.Waited})
	}
}

// reportEnd reports how a member has ended. One that was cut off was stopped.
func (m *memberRun) reportEnd() {
	end := turn.Sealed{Status: turn.Done, Metrics: turn.Metrics{
		RetryCount: m.spent.RetryCount + max(0, m.last.N-1), TotalRetryDelay: m.spent.TotalRetryDelay + m.last.Waited,
	}}
	m.mu.Lock()
	v := m.members[m.number]
	m.mu.Unlock()
	switch v.State {
	case Failed:
		e := turn.NewError(v.Fault, end.RetryCount, end.TotalRetryDelay)
		e.Name, e.Stop = v.Name, m.last.Stop
		m.report(e)
		end.Status = turn.Failed
	case CutOff:
		end.Status = turn.Aborted
	}
	end.Duration = v.Took
	m.report(end)
}
