// Move: a waiting turn asks another model.
import { useRef, useState } from 'preact/hooks'

import { part, post } from '../call'
import { useModels } from '../choices'
import { canAct } from '../store'
import { Act } from './parts'

interface Props {
  conversation: string
  title: string
}

// Move is a button with the field for the model that a turn is moved to.
export function Move(props: Props) {
  const [open, set] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const close = () => (set(false), setTimeout(() => button.current?.focus()))
  if (!canAct()) return null
  if (open) return <Field {...props} close={close} />
  return <button type="button" ref={button} class="quiet" aria-label={`Move to another model: ${props.title}`} onClick={() => set(true)}>Move…</button>
}

function Field({ conversation, title, close }: Props & { close: () => void }) {
  const [model, type] = useState('')
  const self = useRef<HTMLSpanElement>(null)
  const known = useModels()
  const list = 'models-' + conversation
  const onKey = (e: KeyboardEvent) => {
    if (e.key === 'Escape') close()
    if (e.key === 'Enter' && e.target instanceof HTMLInputElement) self.current?.querySelector('button')?.click()
  }
  const move = async () => (await post(`conversations/${part(conversation)}/move`, { model: model.trim() }), close())
  return (
    <span class="move" ref={self} onKeyDown={onKey}>
      <input ref={(e) => e?.focus()} list={list} placeholder="provider/model" aria-label={`Model to move to: ${title}`} value={model} onInput={(e) => type(e.currentTarget.value)} />
      <datalist id={list}>{known.map((m) => <option key={m} value={m} />)}</datalist>
      <Act label="Move" busy="Moving…" act={move} name={`Move: ${title}`} />
      <button type="button" class="quiet" onClick={close}>Cancel</button>
    </span>
  )
}
