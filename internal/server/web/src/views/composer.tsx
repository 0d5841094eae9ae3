// The input field. The draft is kept until the server has it: it survives a failed request, another
// conversation and a reload.
import { useEffect, useRef, useState } from 'preact/hooks'

import { again, draftOf, setImages } from '../drafts'
import { attach, type Attached, read } from '../images'
import { mayAct } from '../store'
import { pictured } from '../words'
import { Act } from './parts'

interface Props {
  place: string // names the draft
  send: (text: string, images: readonly Attached[]) => Promise<unknown>
  busy: boolean // a turn is in progress: the message is queued
  stop?: () => Promise<unknown>
}

// useText returns the text of a place's draft, and what changes it.
function useText(place: string): [text: string, write: (text: string) => void] {
  const key = 'ridethrough-draft ' + place
  const [text, set] = useState(() => sessionStorage.getItem(key) ?? '')
  return [text, (draft) => (set(draft), sessionStorage.setItem(key, draft))]
}

// add attaches images to a place's draft, one after the other up to the first that is refused.
async function add(place: string, files: readonly File[]): Promise<void> {
  const { images, restored } = draftOf(place)
  await restored
  for (const file of files) {
    const image = await read(file)
    void setImages(place, attach(images.value, image)) // which others may have changed meanwhile
  }
}

export function Composer({ place, send, busy, stop }: Props) {
  const [text, write] = useText(place)
  const draft = draftOf(place)
  const images = draft.images.value
  const [sending, set] = useState(false)
  const [failed, fail] = useState('')
  const field = useRef<HTMLTextAreaElement>(null)
  const without = text.trim() === ''
  const edited = again.value
  useEffect(() => {
    if (edited?.place !== place) return
    again.value = null
    write(text.trim() ? `${text}\n${edited.text}` : edited.text) // what is being written is not lost
    field.current?.focus()
  }, [edited])
  const submit = async () => {
    if (without || sending) return
    set(true)
    fail('')
    try {
      await draft.restored
      const sent = draft.images.value
      await send(text, sent)
      write('')
      void setImages(place, draft.images.value.filter((i) => !sent.includes(i)))
    } catch (error) {
      fail('Not sent: ' + (error as Error).message)
    }
    set(false)
  }
  const onKey = (e: KeyboardEvent) => {
    if (e.key !== 'Enter' || e.shiftKey || e.isComposing) return
    e.preventDefault()
    void submit()
  }
  const onFiles = (files: readonly File[]) => (fail(''), add(place, files).catch((e: Error) => fail('Not attached: ' + e.message)))
  // onData attaches the files that are pasted or dropped. Of a text that comes with its picture it is the text.
  const onData = (e: Event, data: DataTransfer | null) => {
    if (!data || data.files.length === 0 || data.getData('text/plain')) return
    e.preventDefault()
    void onFiles([...data.files])
  }
  const onDragOver = (e: DragEvent) => e.dataTransfer?.types.includes('Files') && e.preventDefault()
  if (!mayAct()) return <p class="aside">Your token allows reading only.</p>
  return (
    <div class="composer" onDragOver={onDragOver} onDrop={(e) => onData(e, e.dataTransfer)}>
      <Pictures of={images} remove={(i) => (void setImages(place, images.filter((o) => o !== i)), field.current?.focus())} />
      <label>
        <span class="sr">Message</span>
        <textarea ref={field} value={text} rows={2} placeholder={busy ? 'Message for the next turn' : 'Message'} onInput={(e) => write(e.currentTarget.value)} onKeyDown={onKey} onPaste={(e) => onData(e, e.clipboardData)} />
      </label>
      <p class="acts">
        <button type="button" class="first" disabled={sending || without} onClick={() => void submit()}>{sending ? 'Sending…' : busy ? 'Queue' : 'Send'}</button>
        {stop ? <Act label="Stop" name="Stop this turn" busy="Stopping…" act={stop} /> : null}
        <Attach chosen={onFiles} />
        {failed || draft.notice.value ? <span class="failed" role="alert">{failed || draft.notice.value}</span> : without && images.length > 0 ? <span class="aside">Add a text to send the images</span> : <span class="aside keys">Enter sends, Shift+Enter starts a new line</span>}
      </p>
    </div>
  )
}

// Attach is the button that chooses images.
function Attach({ chosen }: { chosen: (files: readonly File[]) => unknown }) {
  const input = useRef<HTMLInputElement>(null)
  const onChange = (e: { currentTarget: HTMLInputElement }) => {
    chosen([...(e.currentTarget.files ?? [])])
    e.currentTarget.value = '' // so that the same file can be chosen again
  }
  return (
    <>
      <button type="button" class="quiet" onClick={() => input.current?.click()}>Attach images…</button>
      <input ref={input} type="file" hidden multiple accept="image/png,image/jpeg,image/gif,image/webp" onChange={onChange} />
    </>
  )
}

// Pictures are the images that are attached, each with a button that removes it.
function Pictures({ of, remove }: { of: readonly Attached[]; remove: (i: Attached) => void }) {
  if (of.length === 0) return null
  return (
    <ul class="attached" aria-label="Attached images">
      {of.map((i) => (
        <li key={i.key}>
          <img src={i.url} alt="" />
          <span>{pictured(i)}</span>
          <button type="button" class="quiet" aria-label={`Remove ${i.name || 'the image'}`} onClick={() => remove(i)}>Remove</button>
        </li>
      ))}
    </ul>
  )
}
