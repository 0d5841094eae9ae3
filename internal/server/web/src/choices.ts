// The models and agents that exist here, as far as the server knows: its default, and what was asked before.
import { usePolled } from './polled'
import type { Ended } from './api'
import { conversations, hello, upstreams } from './store'

// defaultModel is the model of a conversation that names none; "": each has to name one.
export const defaultModel = (): string => hello.value?.model ?? ''

// agents are the agents of the configuration.
export const agents = (): readonly string[] => hello.value?.agents ?? []

// useModels returns the models that conversations can ask: the default, those of conversations, and those that
// programs have asked where conversations may ask as well.
export function useModels(): string[] {
  const [answer] = usePolled<{ requests: Ended[] }>('requests?limit=200')
  void upstreams.version.value
  const asked = (answer?.requests ?? []).filter((r) => r.model && r.outcome === 'answered' && upstreams.peek(r.upstream)?.provider)
  const all = [...conversations.keys.value.map((id) => conversations.row(id)?.value.model ?? ''), ...asked.map((r) => `${r.upstream.replace(/^conversations:/, '')}/${r.model}`)]
  return [...new Set([defaultModel(), ...all])].filter(Boolean)
}
