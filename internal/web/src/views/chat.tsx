// Chat: conversations that the server keeps, and the one that is open.
import { useEffect, useRef, useState } from 'preact/hooks'

import { about, open, speak, talk, ticket, trouble } from '../chat'
import { ask, part, post } from '../call'
import { chosen, go } from '../route'
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

function List({ chosen: id }: { chosen: string }) {
  return (
    <nav class="talks" aria-label="Conversations">
      <p><a class="button" href="#/chat" aria-current={id ? undefined : 'page'}>New conversation</a></p>
      <ul>
        {conversations.keys.value.map((k) => <Entry key={k} id={k} current={k === id} />)}
      </ul>
    </nav>
  )
}

function Entry({ id, current }: { id: string; current: boolean }) {
  const c = conversations.row(id)?.value
  if (!c) return null
  return (
    <li>
      <a href={`#/chat/${part(id)}`} aria-current={current ? 'page' : undefined}>
        <b>{c.title || id}</b>
        <span class="aside">
          {c.waiting ? <><Mark state="waiting" />waiting</> : c.turnId ? 'at work' : dated(c.changed)} · {c.model.split('/').at(-1)}
        </span>
      </a>
    </li>
  )
}

// Create makes a conversation with the first thing that is said in it.
function Create() {
  const [model, setModel] = useState(() => localStorage.getItem('ridethrough-model') ?? '')
  const [title, setTitle] = useState('')
  const models = [...new Set(conversations.keys.value.map((k) => conversations.row(k)?.value.model ?? ''))].filter(Boolean)
  const start = async (text: string) => {
    const settings = { ...(model ? { model } : {}), ...(title ? { title } : {}) }
    const made = await post<{ id: string }>('conversations', settings)
    localStorage.setItem('ridethrough-model', model)
    await speak(made.id, ticket(), text)
    go('chat/' + part(made.id))
  }
  return (
    <section class="talk create">
      <header class="title">
        <h1 tabIndex={-1}>Chat</h1>
        <p>A turn that was accepted comes to its end, whatever becomes of this page, the server or the provider.</p>
      </header>
      <div class="fields">
        <label>Model<input value={model} list="models" placeholder="anthropic/claude-opus-4-5" autoComplete="off" spellcheck={false} onInput={(e) => setModel(e.currentTarget.value.trim())} /></label>
        <datalist id="models">{models.map((m) => <option key={m} value={m} />)}</datalist>
        <label>Title <span class="aside">(optional)</span><input value={title} maxLength={200} onInput={(e) => setTitle(e.currentTarget.value)} /></label>
      </div>
      <Composer place="" send={start} busy={false} />
    </section>
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
  const title = conversations.keys.value.includes(id) ? conversations.row(id)?.value.title : c?.title
  return (
    <section class="talk">
      <header class="title">
        <p class="back"><a href="#/chat">‹ All conversations</a></p>
        <h1 tabIndex={-1}>{title || c?.title || id}</h1>
        <p class="aside">
          <span>{c?.model}</span>
          <Act kind="quiet" label="Delete" sure="Delete it for good?" act={async () => (await ask('DELETE', 'conversations/' + part(id)), go('chat'))} />
        </p>
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
