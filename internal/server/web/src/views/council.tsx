// Council: the same asked of several models, where each of them stands, and the
// one answer that is made of what they say.
import { useEffect, useRef, useState } from 'preact/hooks'

import { count, over, read, standing, together, turnOf, type Council, type Seat, type Together } from '../council'
import { Prose } from '../prose'
import { convene, sits, sitting, stop } from '../sitting'
import { Countdown } from '../ticker'
import { seconds } from '../time'
import { Act, Copy } from './parts'
import { TurnView } from './turn'

export function CouncilView() {
  const c = sitting.value
  return (
    <>
      <header class="title">
        <h1 tabIndex={-1}>Council</h1>
        <p>Several models are asked the same, each on its own, and a judge makes one answer of what they say. A council ends with this page, and is not kept.</p>
      </header>
      <Summons />
      {c ? <Sitting key={c.id} of={c} /> : null}
    </>
  )
}

// useKept is a state that a reload leaves as it is.
function useKept(place: Storage, key: string): [string, (value: string) => void] {
  const [value, set] = useState(() => place.getItem(key) ?? '')
  return [value, (next) => (set(next), place.setItem(key, next))]
}

function Summons() {
  const [question, ask] = useKept(sessionStorage, 'ridethrough-question')
  const [models, name] = useKept(localStorage, 'ridethrough-members')
  const [judge, appoint] = useKept(localStorage, 'ridethrough-judge')
  const [beginning, set] = useState(false)
  const [failed, fail] = useState('')
  const members = read(models)
  const begin = async (e: Event) => {
    e.preventDefault()
    if (beginning || sits()) return
    if (question.trim() === '') return fail('there is no question')
    if (members.length < 2) return fail('a council has at least two models')
    set(true)
    fail(await convene(question, members, judge.trim()).then(() => '', (error: Error) => error.message))
    set(false)
  }
  const onKey = (e: KeyboardEvent) => {
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) void begin(e)
  }
  return (
    <form class="summons" onSubmit={(e) => void begin(e)}>
      <label>Question<textarea value={question} rows={3} onInput={(e) => ask(e.currentTarget.value)} onKeyDown={onKey} /></label>
      <div class="fields">
        <label>Models <span class="aside">(one in a line, two at least)</span><textarea value={models} rows={3} placeholder={'anthropic/claude-opus-4-5\nopenai/gpt-5\ngemini/gemini-3-pro'} spellcheck={false} onInput={(e) => name(e.currentTarget.value)} /></label>
        <label>Judge <span class="aside">(optional)</span><input value={judge} list="members" placeholder={members[0] ?? 'the first model'} autoComplete="off" spellcheck={false} onInput={(e) => appoint(e.currentTarget.value)} /></label>
        <datalist id="members">{[...new Set(members)].map((m) => <option key={m} value={m} />)}</datalist>
      </div>
      <p class="acts">
        <button class="first" disabled={beginning || sits()}>{beginning ? 'Beginning…' : 'Ask the council'}</button>
        {failed ? <span class="failed" role="alert">Not begun: {failed}</span> : <span class="aside">Ctrl+Enter asks as well</span>}
      </p>
    </form>
  )
}

function Sitting({ of: c }: { of: Council }) {
  const head = useRef<HTMLHeadingElement>(null)
  useEffect(() => head.current?.focus(), [])
  const turn = turnOf(c)
  return (
    <section class="sitting" aria-labelledby="sitting">
      <header>
        <h2 id="sitting" tabIndex={-1} ref={head}>{headline(c)}</h2>
        {c.end ? null : <Act label="Stop" name="Stop the council" act={async () => stop()} />}
      </header>
      <p class="said" role="region" aria-label="Question" tabIndex={0}>{c.question}</p>
      {c.end ? null : together(c).map((t) => <Waiting key={t.provider} of={t} all={c.seats.length} />)}
      <h3 id="members">Members</h3>
      <ul class="seats" aria-labelledby="members">{c.seats.map((s) => <Row key={s.name} of={s} />)}</ul>
      {c.grace && !c.end && !c.seats.every(over) ? <p class="aside">{count(c, 'answered')} of {c.seats.length} have answered — the rest have <Countdown due={c.grace} words={whole} /></p> : null}
      {turn ? <h3>Answer <span class="aside">made by {c.judge}</span></h3> : null}
      {turn ? <TurnView turn={turn} conversation="" last={false} /> : null}
      <End of={c} />
    </section>
  )
}

// whole counts a time that is left down to a second: what follows is told.
const whole = (left: number): string => seconds(Math.max(1, left))

function headline(c: Council): string {
  switch (c.end?.status) {
    case 'done':
      return 'The council has answered'
    case 'aborted':
      return 'Stopped'
    case 'failed':
      return 'The council has no answer'
  }
  if (turnOf(c)) return 'The judge reads and answers'
  return `${count(c, 'answered')} of ${c.seats.length} members have answered`
}

function Waiting({ of: t, all }: { of: Together; all: number }) {
  return (
    <p class="together">
      <span aria-hidden="true">▲</span> {t.waiting} of {all} members waiting on {t.provider} — {t.first.due === undefined ? 'another call goes first' : <>next try <Countdown due={t.first.due} at={t.first.at} /></>}
    </p>
  )
}

const glyphs: Record<Seat['state'], string> = { '': '·', 'asking': '○', 'waiting': '▲', 'answered': '✓', 'failed': '✗', 'cut-off': '–' }

function Row({ of: s }: { of: Seat }) {
  return (
    <li class={`seat ${s.state}`}>
      <p class="line">
        <span class="glyph" aria-hidden="true">{glyphs[s.state]}</span>
        <b>{s.name}</b>
        <span class="stand">{standing(s)}{s.state === 'waiting' && s.due !== undefined ? <> <Countdown due={s.due} at={s.at} /></> : null}</span>
        {s.state === 'asking' || s.state === 'waiting' ? <span class="aside left">budget <Countdown due={s.spent} words={whole} /> left</span> : null}
      </p>
      {s.message && s.state !== 'answered' && s.state !== 'asking' ? <p class="words">{s.message}</p> : null}
      {s.answer ? <Answer text={s.answer} /> : null}
    </li>
  )
}

// Answer is a member's, drawn when somebody opens it: it may be long.
function Answer({ text }: { text: string }) {
  const [open, set] = useState(false)
  return (
    <details class="thought" onToggle={(e) => set(e.currentTarget.open)}>
      <summary>What it answered</summary>
      {open ? <Prose text={text} under={3} /> : null}
    </details>
  )
}

// End says what the council has failed of, unless its judge has said so, and
// what it has taken.
function End({ of: c }: { of: Council }) {
  if (!c.end) return null
  const answered = `${count(c, 'answered')} of ${c.seats.length} members answered`
  const answer = turnOf(c)?.items.map((i) => (i.is === 'answer' ? i.text : '')).join('')
  return (
    <footer class="end">
      {c.end.status === 'failed' && !turnOf(c)?.error ? <div class="error"><p><b>{c.end.message}</b></p></div> : null}
      <p class="acts">
        {c.end.status === 'done' && answer ? <Copy label="Copy the answer" text={() => answer} /> : null}
        <span class="aside">{answered} · {seconds(c.end.tookMs)}</span>
      </p>
    </footer>
  )
}
