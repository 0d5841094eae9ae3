// Chat: conversations that the server keeps, and the one that is open.
import { useEffect, useRef, useState } from 'preact/hooks'

import { about, beneath, dig, forget, older, open, speak, talk, ticket, trouble } from '../chat'
import { ask, part, post } from '../call'
import { chosen, go } from '../route'
import type { Heading } from '../shapes'
import { conversations, hello, link } from '../store'
import { dated } from '../time'
import { Composer } from './composer'
import { Act, Empty, Mark } from './parts'
import { Queue } from './queue'
import { TurnView } from './turn'

export function Chat() {
  const id = chosen.value
  useEffect(() => (open(id), () => open('')), [id])
  if (hello.value?.conversations === false) {
    return <Empty title="This server keeps no conversations">It was started with <code>--data none</code>, or another process has its directory.</Empty>
  }
  return (
    <div class={id ? 'chat with' : 'chat'}>
      <List chosen={id} />
      {id ? <Open key={id} id={id} /> : <Create />}
    </div>
  )
}

const full = 100 // conversations that the stream lists

function List({ chosen: id }: { chosen: string }) {
  const listed = conversations.keys.value
  return (
    <nav class="talks" aria-label="Conversations">
      <p><a class="button" href="#/chat" aria-current={id ? undefined : 'page'}>New conversation</a></p>
      <ul>
        {listed.map((k) => <Entry key={k} of={conversations.row(k)?.value} current={k === id} />)}
        {older.value.filter((c) => !listed.includes(c.id)).map((c) => <Entry key={c.id} of={c} current={c.id === id} />)}
      </ul>
      {listed.length >= full && beneath.value !== undefined ? <p class="older"><Act kind="quiet" label="Older ones" busy="Looking…" act={dig} /></p> : null}
    </nav>
  )
}

function Entry({ of: c, current }: { of: Heading | undefined; current: boolean }) {
  if (!c) return null
  return (
    <li>
      <a href={`#/chat/${part(c.id)}`} aria-current={current ? 'page' : undefined}>
        <b>{c.title || c.id}</b>
        <span class="aside">
          {c.waiting ? <><Mark state="waiting" />waiting</> : c.turnId ? 'at work' : dated(c.changed)} · {c.model.split('/').at(-1)}
        </span>
      </a>
    </li>
  )
}

// Settings are what people choose of a conversation.
interface Settings {
  model: string
  title: string
}

// Fields are where they choose it.
function Fields({ of, set }: { of: Settings; set: (s: Settings) => void }) {
  const models = [...new Set(conversations.keys.value.map((k) => conversations.row(k)?.value.model ?? ''))].filter(Boolean)
  return (
    <div class="fields">
      <label>Model<input value={of.model} list="models" placeholder="anthropic/claude-opus-4-5" autoComplete="off" spellcheck={false} onInput={(e) => set({ ...of, model: e.currentTarget.value.trim() })} /></label>
      <datalist id="models">{models.map((m) => <option key={m} value={m} />)}</datalist>
      <label>Title <span class="aside">(optional)</span><input value={of.title} maxLength={200} onInput={(e) => set({ ...of, title: e.currentTarget.value })} /></label>
    </div>
  )
}

// Create makes a conversation with the first thing that is said in it. Where
// that is not answered for, the same is said again there.
function Create() {
  const [of, set] = useState<Settings>(() => ({ model: localStorage.getItem('ridethrough-model') ?? '', title: '' }))
  const begun = useRef({ as: '', id: '', first: '' })
  const start = async (text: string) => {
    const as = JSON.stringify([of, text])
    if (begun.current.as !== as) {
      const { id } = await post<{ id: string }>('conversations', { ...(of.model ? { model: of.model } : {}), ...(of.title ? { title: of.title } : {}) })
      begun.current = { as, id, first: ticket() }
    }
    const { id, first } = begun.current
    localStorage.setItem('ridethrough-model', of.model)
    await speak(id, first, text)
    go('chat/' + part(id))
  }
  return (
    <section class="talk create">
      <header class="title">
        <h1 tabIndex={-1}>Chat</h1>
        <p>A turn that was accepted comes to its end, whatever becomes of this page, the server or the provider.</p>
      </header>
      <Fields of={of} set={set} />
      <Composer place="" send={start} busy={false} />
    </section>
  )
}

// Change makes the turns to come with another model, or gives the conversation
// another title.
function Change({ id, of, done }: { id: string; of: Settings; done: () => void }) {
  const [to, set] = useState(of)
  const self = useRef<HTMLDivElement>(null)
  useEffect(() => self.current?.querySelector('input')?.focus(), [])
  const save = async () => {
    await ask('PATCH', 'conversations/' + part(id), { ...(to.model && to.model !== of.model ? { model: to.model } : {}), ...(to.title !== of.title ? { title: to.title } : {}) })
    done()
  }
  return (
    <div class="change" ref={self} role="group" aria-label="What the turns to come are made with" onKeyDown={(e) => e.key === 'Escape' && done()}>
      <Fields of={to} set={set} />
      <p class="acts"><Act kind="first" label="Save" busy="Saving…" act={save} /><button type="button" class="quiet" onClick={done}>Leave as it was</button></p>
    </div>
  )
}

function Open({ id }: { id: string }) {
  const t = talk.value
  const c = about.value
  const turns = useRef<HTMLDivElement>(null)
  useEnd(turns)
  const turn = t?.turns.at(-1)?.status === 'open' ? t.turns.at(-1) : undefined
  const said = useRef<[string, string]>(['', ''])
  const send = async (text: string) => {
    if (said.current[1] !== text) said.current = [ticket(), text] // the same again, unanswered, keeps its id
    await speak(id, said.current[0], text)
    said.current = ['', '']
  }
  const [changing, change] = useState(false)
  return (
    <section class="talk">
      <header class="title">
        <p class="back"><a href="#/chat">‹ All conversations</a></p>
        <h1 tabIndex={-1}>{c?.title || id}</h1>
        {c && changing ? <Change id={id} of={{ model: c.model, title: c.title ?? '' }} done={() => change(false)} /> : (
          <p class="aside">
            <span>{c?.model}</span>
            <span class="acts">
              <button type="button" class="quiet" onClick={() => change(true)}>Change</button>
              <Act kind="quiet" label="Delete" sure="Delete it for good?" act={async () => (await ask('DELETE', 'conversations/' + part(id)), forget(id), go('chat'))} />
            </span>
          </p>
        )}
      </header>
      {trouble.value ? <Empty title="This conversation cannot be shown">{trouble.value}</Empty> : null}
      <div class="turns" ref={turns}>
        {t?.turns.map((one, i) => <TurnView key={one.id} turn={one} conversation={id} last={i === t.turns.length - 1} />)}
        {t && t.turns.length === 0 && link.value === 'live' && t.queue.length === 0 ? <p class="aside">Nothing has been said yet.</p> : null}
      </div>
      {t ? <Queue queue={t.queue} conversation={id} open={turn !== undefined} /> : null}
      <Composer place={id} send={send} busy={turn !== undefined} {...(turn ? { stop: () => post(`conversations/${part(id)}/stop`, { turnId: turn.id }) } : {})} />
    </section>
  )
}

const near = 80 // px from the end of the page that count as being there

// useEnd keeps whoever reads at the end of the page there as something in it
// grows, and nobody else.
function useEnd(growing: { current: HTMLElement | null }): void {
  useEffect(() => {
    let there = true
    const look = () => (there = innerHeight + scrollY >= document.documentElement.scrollHeight - near)
    const grown = new ResizeObserver(() => there && scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' }))
    addEventListener('scroll', look, { passive: true })
    if (growing.current) grown.observe(growing.current)
    return () => (removeEventListener('scroll', look), grown.disconnect())
  }, [])
}
