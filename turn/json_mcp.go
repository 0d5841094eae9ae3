package turn

// mcpRetryForm has the members of a retry, without a model.
type mcpRetryForm struct {
	Server string `json:"server"`
	Call   string `json:"id,omitzero"`
	retryForm
}

func (e MCPRetry) form() any {
	return mcpRetryForm{e.Server, e.Call, Retry{Wait: e.Wait}.form().(retryForm)}
}

func (f mcpRetryForm) event() Event {
	return MCPRetry{f.Server, f.Call, f.retryForm.event().(Retry).Wait}
}

type mcpRecoveredForm struct {
	Server  string `json:"server"`
	Call    string `json:"id,omitzero"`
	Retries int    `json:"retries"`
	Waited  millis `json:"waitedMs"`
}

func (e MCPRecovered) form() any {
	return mcpRecoveredForm{e.Server, e.Call, e.Retries, toMillis(e.Waited)}
}

func (f mcpRecoveredForm) event() Event {
	return MCPRecovered{f.Server, f.Call, f.Retries, f.Waited.duration()}
}
