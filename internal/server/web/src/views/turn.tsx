// A turn: its messages and tools, its wait and its end.
import { Component } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

import type { Decision, Wait } from '../api'
import { part, post } from '../call'
import { Prose } from '../prose'
import type { Received } from '../table'
import { Countdown } from '../ticker'
import { dated, roughly, seconds } from '../time'
import { answer, newInputId, send } from '../chat'
import { writeAgain } from '../drafts'
import { lostAt, mayAct } from '../store'
import { needsApproval, type Item, type Message, type Tool, type Turn } from '../transcript'
import { attempt, brokeOff, capital, causeOf, count, details, headline, plural, recovered, verb } from '../words'
import { Move } from './move'
import { Act, Copy, Images } from './parts'

interface Props {
  turn: Turn
  conversation: string // '': it is a council's judge
  last: boolean // of the conversation
}

// TurnView draws a turn, and again only when it has changed.
export class TurnView extends Component<Props> {
  override shouldComponentUpdate(next: Props): boolean {
    return next.turn !== this.props.turn || next.last !== this.props.last
  }

  override render() {
    const { turn: t, conversation, last } = this.props
    return (
      <article class={`turn ${t.status}`} aria-label="Turn">
        {t.items.map((i, n) => (needsApproval(i) && t.status === 'open' ? <Approval key={n} of={i} conversation={conversation} /> : <ItemView key={n} of={i} under={conversation ? 1 : 3} conversation={conversation} />))}
        {t.wait ? <WaitView wait={t.wait} conversation={conversation} /> : null}
        {t.status === 'open' && t.mcp && t.items.length < 2 ? <p class="note">▲ {t.mcp}</p> : null}
        {t.status === 'open' && !t.wait && t.retries ? <p class="good note">✓ {recovered(t.retries, t.waitedMs ?? 0)}</p> : null}
        {t.status === 'open' && !t.wait && !t.items.some((i) => needsApproval(i) || ('streaming' in i && i.streaming)) ? <Working /> : null}
        <End of={t} />
        {last && (t.status === 'failed' || t.status === 'aborted') ? <p class="acts"><Act label="Retry now" busy="Asking…" act={() => post(`conversations/${part(conversation)}/again`)} /></p> : null}
      </article>
    )
  }
}

// Working is shown for a turn of which nothing comes at the moment. Without the server that is not known.
const Working = () => <p class="aside working">{lostAt.value === null ? 'Working…' : ''}</p>

// ItemView draws an item, below a heading of that level.
function ItemView({ of: i, under, conversation }: { of: Item; under: number; conversation: string }) {
  switch (i.is) {
    case 'user':
      return <UserMessage of={i} conversation={conversation} />
    case 'answer':
      return <Answer of={i} under={under} />
    case 'thought':
      return <details class="thought"><summary>Thinking{i.streaming ? '…' : ''}</summary><Prose text={i.text} under={under} /></details>
    case 'tool':
      return <ToolView of={i} />
    case 'note':
      return <p class="note">{i.text}</p>
  }
}

// UserMessage has the actions on what the user said: nothing is changed that was said, it is said again.
function UserMessage({ of: m, conversation }: { of: Message; conversation: string }) {
  const name = `: ${m.text.slice(0, 40)}`
  return (
    <div class="user-message">
      <div class="user"><p class="sr">You said:</p><p class="said">{m.text}</p><Images of={m.images} /></div>
      {conversation ? (
        <p class="acts on-message">
          <Copy text={() => m.text} name={`Copy${name}`} />
          {mayAct() ? <button type="button" class="quiet" aria-label={`Edit${name}`} onClick={() => writeAgain(conversation, m.text)}>Edit</button> : null}
          {m.images?.length ? null : <Act kind="quiet" label="Ask again" busy="Asking…" name={`Ask again${name}`} act={() => send(conversation, newInputId(), m.text, [])} />}
        </p>
      ) : null}
    </div>
  )
}

function Answer({ of: a, under }: { of: Message; under: number }) {
  return (
    <div class={a.streaming ? 'answer streaming' : 'answer'}>
      {a.late ? <p class="aside">… the beginning was streamed before this page was connected; the whole answer follows</p> : null}
      <Prose text={a.text} under={under} />
      {a.partial ? <p class="broke">{brokeOff}</p> : null}
      {a.streaming || under > 1 ? null : <p class="acts on-message"><Copy text={() => a.text} label="Copy" name="Copy the answer" /></p>}
    </div>
  )
}

const toolWords = { asked: 'asked for', approval: 'needs approval', running: 'running…', done: 'done', failed: 'failed' }

const argumentsOf = (t: Tool): string => (typeof t.arguments === 'string' ? t.arguments : JSON.stringify(t.arguments ?? {}, null, 2))

// Approval asks whether a tool call may run, with all of its arguments.
function Approval({ of: t, conversation }: { of: Tool; conversation: string }) {
  const title = 'approval-' + t.id
  const say = (d: Decision) => () => answer(conversation, t.id, d)
  const self = useRef<HTMLElement>(null)
  useEffect(() => { // the turn waits for an answer, but nothing is taken from a user who writes
    const at = document.activeElement
    const writes = at instanceof HTMLInputElement || at instanceof HTMLSelectElement || (at instanceof HTMLTextAreaElement && at.value !== '')
    if (!writes) self.current?.focus()
  }, [])
  return (
    <section class="approval" aria-labelledby={title} tabIndex={-1} ref={self}>
      <p class="sentence" id={title}>May <code>{t.name}</code> run?</p>
      <pre tabIndex={0} aria-label="Its arguments">{argumentsOf(t)}</pre>
      <p class="acts">
        <Act kind="first" label="Allow once" busy="Allowing…" name={`Allow once: ${t.name}`} act={say('allow-once')} />
        <Act label="Allow always in this conversation" busy="Allowing…" name={`Allow always in this conversation: ${t.name}`} act={say('allow-always')} />
        <Act label="Deny" busy="Denying…" name={`Deny: ${t.name}`} act={say('deny')} />
      </p>
      {t.until ? <p class="aside">Without an answer it is refused at {dated(t.until)}. The turn waits until then, also without this page.</p> : null}
    </section>
  )
}

function ToolView({ of: t }: { of: Tool }) {
  const given = argumentsOf(t)
  return (
    <details class={`tool ${t.state}`}>
      <summary><code>{t.name}</code> <span class="short">{given.replace(/\s+/g, ' ').slice(0, 120)}</span> <span class="aside">{t.wait ? `▲ ${t.wait}` : toolWords[t.state]}</span></summary>
      <pre tabIndex={0}>{given}</pre>
      {t.output === undefined ? null : <pre tabIndex={0}>{bounded(t.output)}</pre>}
    </details>
  )
}

const outputBound = 20_000 // characters of a tool's output that are shown

const bounded = (s: string): string => (s.length > outputBound ? `${s.slice(0, outputBound)}\n… and ${count(s.length - outputBound)} more characters` : s)

// Remaining is the time until a wait ends.
const Remaining = ({ of: w }: { of: Received<Wait> }) => (
  <> — {verb(w)} <Countdown due={w.received + w.remainingMs} at={w.due} />{w.opensAt ? '' : <>… <span class="aside">({attempt(w)})</span></>}</>
)

// WaitView shows the wait of a turn, with the buttons to shorten it. *Stop* is below the field for messages.
function WaitView({ wait: w, conversation }: { wait: Received<Wait>; conversation: string }) {
  const at = `conversations/${part(conversation)}/`
  return (
    <aside class="bubble" aria-label="The provider is failing, and the turn waits">
      <p class="sentence"><span aria-hidden="true">▲</span> {capital(causeOf(w))}{lostAt.value === null ? <Remaining of={w} /> : ''}</p>
      <p class="words">{w.message}</p>
      {conversation ? (
        <p class="acts">
          <Act kind="first" label="Retry now" busy="Asking…" act={() => post(at + 'now')} />
          <Move conversation={conversation} title="this turn" />
        </p>
      ) : null}
    </aside>
  )
}

// End shows how a turn ended, and its cost.
function End({ of: t }: { of: Turn }) {
  const e = t.error
  if (t.status === 'open' && !e) return null
  const took = [
    t.retries ? `recovered after ${plural(t.retries, 'retry', 'retries')}, waited ${seconds(t.waitedMs ?? 0)}` : '',
    t.tookMs ? roughly(t.tookMs) : '',
    t.tokens ? `${count(t.tokens[0])} tokens in, ${count(t.tokens[1])} out` : '',
  ]
  return (
    <footer class="end">
      {e ? (
        <div class="error">
          <p><b>{headline(e)}</b></p>
          <p class="words">{e.message}</p>
          <p class="aside">{[details(e), 'nothing is lost'].filter(Boolean).join(' · ')}</p>
        </div>
      ) : null}
      {t.status === 'aborted' ? <p>Stopped.</p> : null}
      {t.status === 'done' ? <p class="aside">{took.filter(Boolean).join(' · ')}</p> : null}
    </footer>
  )
}
