// Model: a field that chooses one of the models that exist, or names another one.
import { useState } from 'preact/hooks'

import { agents, defaultModel, useModels } from '../choices'

interface Props {
  value: string // "": the default
  set: (value: string) => void
  fixed?: boolean // a conversation has one: the default is one of many
}

const another = ' ' // no model has this name

export function ModelField({ value, set, fixed = false }: Props) {
  const known = useModels()
  const standard = fixed ? '' : defaultModel()
  const [named, name] = useState(false)
  const listed = [...new Set([...known.filter((m) => m !== standard), ...(named ? [] : [value])])].filter((m) => m && m !== standard)
  const naming = named || (listed.length === 0 && standard === '')
  const choose = (to: string) => (name(to === another), set(to.trim()))
  return (
    <div class="choice">
      <label>Model
        <select value={naming ? another : value === standard ? '' : value} onChange={(e) => choose(e.currentTarget.value)}>
          {standard ? <option value="">{standard} (the default)</option> : value || naming ? null : <option value="">Choose…</option>}
          {listed.map((m) => <option key={m} value={m}>{m}</option>)}
          <option value={another}>Another model…</option>
        </select>
      </label>
      {naming ? <input aria-label="Name of the model" placeholder="provider/model" value={value} autoComplete="off" spellcheck={false} onInput={(e) => set(e.currentTarget.value.trim())} /> : null}
    </div>
  )
}

// AgentField chooses an agent of the configuration. Without agents nothing is shown.
export function AgentField({ value, set }: Props) {
  const all = [...new Set([...agents(), value])].filter(Boolean)
  if (all.length === 0) return null
  return (
    <label>Agent <span class="aside">(for tools)</span>
      <select value={value} onChange={(e) => set(e.currentTarget.value)}>
        <option value="">None</option>
        {all.map((a) => <option key={a} value={a}>{a}</option>)}
      </select>
    </label>
  )
}
