// Chat: the server's conversations, and the one that is open.
import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'

import type { Conversation, Summary } from '../api'
import { ask, type Failure, part, post } from '../call'
import { conversation, loadError, loadOlder, newInputId, nextPage, older, open, removeOlder, send, transcript } from '../chat'
import { setImages } from '../drafts'
import type { Attached } from '../images'
import { go, selected } from '../route'
import { conversations, hello, link, lostAt, turns as turnWaits, unlisted } from '../store'
import { dated } from '../time'
import { aSentence, pausedMeans } from '../words'
import { Composer } from './composer'
import { AgentField, ModelField } from './model'
import { Act, Empty, Mark } from './parts'
import { Queue } from './queue'
import { TurnView } from './turn'

export function Chat() {
  const id = selected.value
  useEffect(() => (open(id), () => open('')), [id])
  if (hello.value?.conversations === false) {
    return (
      <header class="title">
        <h1 tabIndex={-1}>Chat</h1>
        <p>This server keeps no conversations. <code>ridethrough serve</code> does, unless it was started with <code>--data none</code>.</p>
      </header>
    )
  }
  return (
    <div class={id ? 'chat with' : 'chat'}>
      <List selected={id} />
      {id ? <Open key={id} id={id} /> : <Create />}
    </div>
  )
}

// said tells a message from another one.
const said = (text: string, images: readonly Attached[]): string => JSON.stringify([text, images.map((i) => i.key)])

const searched = signal('')
const searchAbove = 5 // conversations, below which they are seen at a glance
const olderBound = 5000 // that a search loads
const typingTime = 250
const listedBound = 100 // conversations that the stream lists

function List({ selected: id }: { selected: string }) {
  const listed = conversations.keys.value
  const words = searched.value.toLowerCase().split(/\s+/).filter(Boolean)
  const matches = (c: Summary) => words.every((w) => `${c.title ?? ''} ${c.model}`.toLowerCase().includes(w))
  const all = [...listed.map((k) => conversations.row(k)?.value).filter((c) => c !== undefined), ...older.value.filter((c) => !listed.includes(c.id))].filter(matches)
  const searching = words.length > 0 && listed.length >= listedBound && nextPage.value !== undefined && lostAt.value === null && older.value.length < olderBound
  useEffect(() => { // a search is about the older ones as well
    if (!searching) return
    const timer = setTimeout(() => void loadOlder().catch(() => {}), typingTime)
    return () => clearTimeout(timer)
  }, [searched.value, searching, older.value.length])
  return (
    <nav class="conversations" aria-label="Conversations">
      <p><a class="button" href="#/chat" aria-current={id ? undefined : 'page'}>New conversation</a></p>
      {listed.length > 0 ? <h2>Conversations</h2> : null}
      {listed.length > searchAbove ? <label class="find"><span class="sr">Search in conversations</span><input type="search" placeholder="Search by title or model" value={searched.value} onInput={(e) => (searched.value = e.currentTarget.value)} /></label> : null}
      <ul>
        {all.map((c) => <Entry key={c.id} of={c} current={c.id === id} />)}
      </ul>
      {words.length > 0 && all.length === 0 ? <p class="aside" role="status">{searching ? 'Searching the older ones…' : 'No conversation matches.'}</p> : null}
      {words.length === 0 && listed.length >= listedBound && nextPage.value !== undefined ? <p class="older"><Act always kind="quiet" label="Show older" busy="Loading…" act={loadOlder} /></p> : null}
    </nav>
  )
}

// untitled is shown for a conversation in which nothing was said so far.
const untitled = 'New conversation'

// waitsNow reports whether a conversation's turn waits for its provider. The list of waits says so at once, also where
// the answer streams already; the conversation's own record is about its last event.
function waitsNow(c: Summary): boolean {
  void turnWaits.keys.value
  return turnWaits.peek(c.id) !== undefined || (c.waiting === true && unlisted.value > 0)
}

function Entry({ of: c, current }: { of: Summary | undefined; current: boolean }) {
  if (!c) return null
  return (
    <li>
      <a href={`#/chat/${part(c.id)}`} aria-current={current ? 'page' : undefined}>
        <b>{c.title || untitled}</b>
        <span class="aside">
          {c.pausedSince ? <><Mark state="paused" />paused</> : waitsNow(c) ? <><Mark state="waiting" />waiting</> : c.turnId ? 'working' : dated(c.changed)} · {c.model.split('/').at(-1)}
        </span>
      </a>
    </li>
  )
}

// Settings are the settings that the page edits.
interface Settings {
  model: string
  title: string
  agent: string
}

// Fields are their input fields.
function Fields({ of, set, fixed = false }: { of: Settings; set: (s: Settings) => void; fixed?: boolean }) {
  return (
    <div class="fields">
      <ModelField value={of.model} set={(model) => set({ ...of, model })} fixed={fixed} />
      <AgentField value={of.agent} set={(agent) => set({ ...of, agent })} />
      <label>Title <span class="aside">(optional)</span><input value={of.title} maxLength={200} onInput={(e) => set({ ...of, title: e.currentTarget.value })} /></label>
    </div>
  )
}

// Create creates a conversation and sends its first message. A repetition after a failure uses the same
// conversation and message id.
function Create() {
  const [of, set] = useState<Settings>(() => ({ model: localStorage.getItem('ridethrough-model') ?? '', title: '', agent: '' }))
  const created = useRef({ from: '', id: '', first: '' })
  const start = async (text: string, images: readonly Attached[]) => {
    const from = JSON.stringify([of, said(text, images)])
    if (created.current.from !== from) {
      const { id } = await post<{ id: string }>('conversations', { ...(of.model ? { model: of.model } : {}), ...(of.title ? { title: of.title } : {}), ...(of.agent ? { agent: of.agent } : {}) })
      created.current = { from, id, first: newInputId() }
    }
    const { id, first } = created.current
    localStorage.setItem('ridethrough-model', of.model)
    await send(id, first, text, images)
    go('chat/' + part(id))
  }
  return (
    <section class="conversation create">
      <header class="title">
        <h1 tabIndex={-1}>Chat</h1>
        <p>What you send is answered even if you close this page, the server restarts or the provider fails for hours.</p>
      </header>
      <Fields of={of} set={set} />
      <Composer place="" send={start} busy={false} />
    </section>
  )
}

// Change changes the model of the turns to come, or the title.
function Change({ id, of, done }: { id: string; of: Settings; done: () => void }) {
  const [to, set] = useState(of)
  const self = useRef<HTMLDivElement>(null)
  useEffect(() => self.current?.querySelector<HTMLElement>('select')?.focus(), [])
  const save = async () => {
    await ask('PATCH', 'conversations/' + part(id), { ...(to.model && to.model !== of.model ? { model: to.model } : {}), ...(to.title !== of.title ? { title: to.title } : {}), ...(to.agent !== of.agent ? { agent: to.agent } : {}) })
    done()
  }
  return (
    <div class="change" ref={self} role="group" aria-label="Settings of the turns to come" onKeyDown={(e) => e.key === 'Escape' && done()}>
      <Fields of={to} set={set} fixed />
      <p class="acts"><Act kind="first" label="Save" busy="Saving…" act={save} /><button type="button" class="quiet" onClick={done}>Cancel</button></p>
    </div>
  )
}

function Open({ id }: { id: string }) {
  const t = transcript.value
  const c = conversation.value
  const listed = conversations.row(id)?.value
  const turns = useRef<HTMLDivElement>(null)
  useStickToEnd(turns)
  const turn = t?.turns.at(-1)?.status === 'open' ? t.turns.at(-1) : undefined
  const sent = useRef<[id: string, what: string]>(['', ''])
  const submit = async (text: string, images: readonly Attached[]) => {
    const what = said(text, images)
    if (sent.current[1] !== what) sent.current = [newInputId(), what] // a repetition after a failure keeps its id
    await send(id, sent.current[0], text, images)
    sent.current = ['', '']
  }
  const [changing, change] = useState(false)
  const failed = loadError.value
  const unknown = failed?.code === 'gone' ? 'Deleted conversation' : failed?.code === 'not-found' ? 'Unknown conversation' : ''
  return (
    <section class="conversation">
      <header class="title">
        <p class="back"><a href="#/chat">‹ All conversations</a></p>
        <h1 tabIndex={-1}>{c?.title || listed?.title || unknown || (c ? untitled : 'Conversation')}</h1>
        {c && changing ? <Change id={id} of={{ model: c.model, title: c.title || listed?.title || '', agent: c.agent ?? '' }} done={() => change(false)} /> : (
          <p class="aside">
            <span>{[c?.model, c?.agent].filter(Boolean).join(' · ')}</span>
            {c && !unknown ? <span class="acts">
              <button type="button" class="quiet" onClick={() => change(true)}>Change</button>
              <Pausing of={c} />
              <Act kind="quiet" label="Delete" sure="Delete it for good?" act={async () => (await ask('DELETE', 'conversations/' + part(id)), removeOlder(id), setImages(id, []), go('chat'))} />
            </span> : null}
          </p>
        )}
      </header>
      {failed ? <Failed of={failed} unknown={unknown} /> : null}
      <div class="turns" ref={turns}>
        {t?.turns.map((one, i) => <TurnView key={one.id} turn={one} conversation={id} last={i === t.turns.length - 1} />)}
        {t && t.turns.length === 0 && link.value === 'live' && t.queue.length === 0 ? <p class="aside">No messages yet.</p> : null}
      </div>
      {c?.pausedSince ? <p class="aside" role="status">{pausedMeans}</p> : null}
      {t ? <Queue queue={t.queue} conversation={id} open={turn !== undefined} /> : null}
      {unknown || (failed && !c) ? null : <Composer place={id} send={submit} busy={turn !== undefined} {...(turn ? { stop: () => post(`conversations/${part(id)}/stop`, { turnId: turn.id }) } : {})} />}
    </section>
  )
}

// Failed shows why a conversation cannot be shown; unknown is its heading if there is none at its address.
function Failed({ of: failed, unknown }: { of: Failure; unknown: string }) {
  if (unknown) return <Empty title={failed.code === 'gone' ? 'This conversation was deleted' : 'No conversation has this address'}>Each server has its own conversations. <a href="#/chat">Those of this one</a> are kept until they are deleted.</Empty>
  return <Empty title="This conversation could not be loaded">{lostAt.value === null ? aSentence(failed.message) : 'It is loaded when the connection is back.'}</Empty>
}

// Pausing is the button that pauses a conversation, or resumes it.
function Pausing({ of: c }: { of: Conversation }) {
  const [label, what] = c.pausedSince ? ['Resume', 'resume'] : ['Pause', 'pause']
  return <Act kind="quiet" label={label} name={`${label} this conversation`} act={() => post(`conversations/${part(c.id)}/${what}`)} />
}

const endMargin = 80 // px from the end of the page that count as the end

// useStickToEnd keeps a page that is scrolled to its end there as an element grows.
function useStickToEnd(growing: { current: HTMLElement | null }): void {
  useEffect(() => {
    let atEnd = true
    const onScroll = () => (atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - endMargin)
    const grown = new ResizeObserver(() => atEnd && scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' }))
    addEventListener('scroll', onScroll, { passive: true })
    if (growing.current) grown.observe(growing.current)
    return () => (removeEventListener('scroll', onScroll), grown.disconnect())
  }, [])
}
