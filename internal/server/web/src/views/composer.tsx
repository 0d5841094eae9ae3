// The input field. The draft is kept until the server has it: it survives a failed request, another
// conversation and a reload.
import { useState } from 'preact/hooks'

import { mayAct } from '../store'
import { Act } from './parts'

interface Props {
  place: string // names the draft
  send: (text: string) => Promise<unknown>
  busy: boolean // a turn is in progress: the message is queued
  stop?: () => Promise<unknown>
}

export function Composer({ place, send, busy, stop }: Props) {
  const key = 'ridethrough-draft ' + place
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? '')
  const [sending, set] = useState(false)
  const [failed, fail] = useState('')
  const write = (draft: string) => {
    setText(draft)
    sessionStorage.setItem(key, draft)
  }
  const submit = async () => {
    if (text.trim() === '' || sending) return
    set(true)
    fail('')
    try {
      await send(text)
      write('')
    } catch (error) {
      fail((error as Error).message)
    }
    set(false)
  }
  const onKey = (e: KeyboardEvent) => {
    if (e.key !== 'Enter' || e.shiftKey || e.isComposing) return
    e.preventDefault()
    void submit()
  }
  if (!mayAct()) return <p class="aside">Your token permits to read, not to write.</p>
  return (
    <div class="composer">
      <label>
        <span class="sr">Message</span>
        <textarea value={text} rows={2} placeholder={busy ? 'Message for the next turn' : 'Message'} onInput={(e) => write(e.currentTarget.value)} onKeyDown={onKey} />
      </label>
      <p class="acts">
        <button type="button" class="first" disabled={sending || text.trim() === ''} onClick={() => void submit()}>{sending ? 'Sending…' : busy ? 'Queue' : 'Send'}</button>
        {stop ? <Act label="Stop" busy="Stopping…" act={stop} /> : null}
        {failed ? <span class="failed" role="alert">Not sent: {failed}</span> : <span class="aside">Enter sends, Shift+Enter begins a line</span>}
      </p>
    </div>
  )
}
