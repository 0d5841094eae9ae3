package app

import "github.com/ridethrough/ridethrough/llm"

// Open returns the model of a name such as "anthropic/claude-opus-4-5", whose first part is an upstream of the
// configuration or a built-in provider. It may be left out if only one provider has models with that prefix. No
// key is needed for a local provider, or with a base URL, such as a gateway's.
func (m *Models) Open(name string) (llm.Model, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.find(name)
	if err != nil {
		return nil, err
	}
	return m.open(at)
}
