// Move: a waiting turn asks another model.
import { useRef, useState } from 'preact/hooks'

import { part, post } from '../call'
import { canAct, conversations } from '../store'
import { Act } from './parts'

// Move is a button with the field for the model that a turn is moved to.
export function Move({ conversation, title }: { conversation: string; title: string }) {
  const [open, set] = useState(false)
  const [model, type] = useState('')
  const button = useRef<HTMLButtonElement>(null)
  const self = useRef<HTMLSpanElement>(null)
  const close = () => (set(false), setTimeout(() => button.current?.focus()))
  if (!canAct()) return null
  if (!open) return <button type="button" ref={button} class="quiet" aria-label={`Move to another model: ${title}`} onClick={() => set(true)}>Move…</button>
  const known = new Set(conversations.keys.value.map((id) => conversations.peek(id)?.model))
  const list = 'models-' + conversation
  const onKey = (e: KeyboardEvent) => {
    if (e.key === 'Escape') close()
    if (e.key === 'Enter' && e.target instanceof HTMLInputElement) self.current?.querySelector('button')?.click()
  }
  const move = async () => (await post(`conversations/${part(conversation)}/move`, { model: model.trim() }), close())
  return (
    <span class="move" ref={self} onKeyDown={onKey}>
      <input ref={(e) => e?.focus()} list={list} placeholder="provider/model" aria-label={`Model to move to: ${title}`} value={model} onInput={(e) => type(e.currentTarget.value)} />
      <datalist id={list}>{[...known].map((m) => <option key={m} value={m} />)}</datalist>
      <Act label="Move" busy="Moving…" act={move} name={`Move: ${title}`} />
      <button type="button" class="quiet" onClick={close}>Cancel</button>
    </span>
  )
}
