// Council: one question to several models, the state of each, and the combined answer.
import { useEffect, useRef, useState } from 'preact/hooks'

import { count, isOver, judgeTurn, parseModels, sharedWaits, statusText, type Council, type Member, type SharedWait } from '../council'
import { Prose } from '../prose'
import { again, council, isRunning, retryNow, start, stop } from '../running-council'
import { Countdown } from '../ticker'
import { seconds } from '../time'
import { Act, Copy } from './parts'
import { TurnView } from './turn'

export function CouncilView() {
  const c = council.value
  return (
    <>
      <header class="title">
        <h1 tabIndex={-1}>Council</h1>
        <p>Several models answer the same question independently, and a judge combines their answers. A council ends with this page and is not kept.</p>
      </header>
      <Form />
      {c ? <CouncilRun key={c.id} of={c} /> : null}
    </>
  )
}

// useStored is a state that survives a reload.
function useStored(storage: Storage, key: string): [string, (value: string) => void] {
  const [value, set] = useState(() => storage.getItem(key) ?? '')
  return [value, (next) => (set(next), storage.setItem(key, next))]
}

function Form() {
  const [question, setQuestion] = useStored(sessionStorage, 'ridethrough-question')
  const [models, setModels] = useStored(localStorage, 'ridethrough-members')
  const [judge, setJudge] = useStored(localStorage, 'ridethrough-judge')
  const [starting, set] = useState(false)
  const [failed, fail] = useState('')
  const members = parseModels(models)
  const begin = async (e: Event) => {
    e.preventDefault()
    if (starting || isRunning()) return
    if (question.trim() === '') return fail('there is no question')
    if (members.length < 2) return fail('a council needs at least two models')
    set(true)
    fail(await start(question, members, judge.trim()).then(() => '', (error: Error) => error.message))
    set(false)
  }
  const onKey = (e: KeyboardEvent) => {
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) void begin(e)
  }
  return (
    <form class="council-form" onSubmit={(e) => void begin(e)}>
      <label>Question<textarea value={question} rows={3} onInput={(e) => setQuestion(e.currentTarget.value)} onKeyDown={onKey} /></label>
      <div class="fields">
        <label>Models <span class="aside">(one per line, at least two)</span><textarea value={models} rows={3} placeholder={'anthropic/claude-opus-4-5\nopenai/gpt-5\ngemini/gemini-3-pro'} spellcheck={false} onInput={(e) => setModels(e.currentTarget.value)} /></label>
        <label>Judge <span class="aside">(optional)</span><input value={judge} list="members" placeholder={members[0] ?? 'the first model'} autoComplete="off" spellcheck={false} onInput={(e) => setJudge(e.currentTarget.value)} /></label>
        <datalist id="members">{[...new Set(members)].map((m) => <option key={m} value={m} />)}</datalist>
      </div>
      <p class="acts">
        <button class="first" disabled={starting || isRunning()}>{starting ? 'Starting…' : 'Ask the council'}</button>
        {failed ? <span class="failed" role="alert">Not started: {failed}</span> : <span class="aside">Ctrl+Enter also asks</span>}
      </p>
    </form>
  )
}

function CouncilRun({ of: c }: { of: Council }) {
  const head = useRef<HTMLHeadingElement>(null)
  useEffect(() => head.current?.focus(), [])
  const turn = judgeTurn(c)
  return (
    <section class="council" aria-labelledby="council">
      <header>
        <h2 id="council" tabIndex={-1} ref={head}>{headline(c)}</h2>
        {c.end && !again.value ? null : <Act always label="Stop" name="Stop the council" act={async () => stop()} />}
      </header>
      <p class="said" role="region" aria-label="Question" tabIndex={0}>{c.question}</p>
      {again.value ? <AskedAgain /> : null}
      {c.end ? null : sharedWaits(c).map((w) => <Waiting key={w.provider} of={w} all={c.members.length} />)}
      <h3 id="members">Members</h3>
      <ul class="members" aria-labelledby="members">{c.members.map((m) => <Row key={m.name} of={m} />)}</ul>
      {c.grace && !c.end && !c.members.every(isOver) ? <p class="aside">{count(c, 'answered')} of {c.members.length} have answered — the others have <Countdown due={c.grace} format={atLeastOneSecond} /></p> : null}
      {turn ? <h3>Answer <span class="aside">by {c.judge}</span></h3> : null}
      {turn ? <TurnView turn={turn} conversation="" last={false} /> : null}
      <End of={c} />
    </section>
  )
}

// AskedAgain counts down to the next round of a council that could not be answered.
function AskedAgain() {
  const next = again.value
  return next ? (
    <div class="shared-wait">
      <p><span aria-hidden="true">▲</span> Too few answered — all are asked again in <Countdown due={next.due} format={atLeastOneSecond} />… <span class="aside">(round {next.round + 1})</span></p>
      <p class="acts"><Act kind="first" label="Retry now" busy="Asking…" name="Retry now: the council" act={retryNow} /></p>
    </div>
  ) : null
}

// atLeastOneSecond is a remaining time without "now": an event follows it.
const atLeastOneSecond = (left: number): string => seconds(Math.max(1, left))

function headline(c: Council): string {
  switch (c.end?.status) {
    case 'done':
      return 'The council has answered'
    case 'aborted':
      return 'Stopped'
    case 'failed':
      return 'The council has no answer'
  }
  if (judgeTurn(c)) return 'The judge is answering'
  return `${count(c, 'answered')} of ${c.members.length} members have answered`
}

function Waiting({ of: w, all }: { of: SharedWait; all: number }) {
  return (
    <p class="shared-wait">
      <span aria-hidden="true">▲</span> {w.waiting} of {all} members waiting on {w.provider} — {w.first.due === undefined ? 'another call goes first' : <>next try <Countdown due={w.first.due} at={w.first.at} /></>}
    </p>
  )
}

const glyphs: Record<Member['state'], string> = { '': '·', 'asking': '○', 'waiting': '▲', 'answered': '✓', 'failed': '✗', 'cut-off': '–' }

function Row({ of: m }: { of: Member }) {
  return (
    <li class={`member ${m.state}`}>
      <p class="line">
        <span class="glyph" aria-hidden="true">{glyphs[m.state]}</span>
        <b>{m.name}</b>
        <span class="status">{statusText(m)}{m.state === 'waiting' && m.due !== undefined ? <> <Countdown due={m.due} at={m.at} /></> : null}</span>
        {m.state === 'asking' || m.state === 'waiting' ? <span class="aside left">budget <Countdown due={m.budgetEnds} format={atLeastOneSecond} /> left</span> : null}
      </p>
      {m.message && m.state !== 'answered' && m.state !== 'asking' ? <p class="words">{m.message}</p> : null}
      {m.answer ? <Answer text={m.answer} /> : null}
    </li>
  )
}

// Answer is a member's answer, drawn when it is opened: it may be long.
function Answer({ text }: { text: string }) {
  const [open, set] = useState(false)
  return (
    <details class="thought" onToggle={(e) => set(e.currentTarget.open)}>
      <summary>Show answer</summary>
      {open ? <Prose text={text} under={3} /> : null}
    </details>
  )
}

// End shows why the council failed, unless its judge's turn shows it, and how long it took.
function End({ of: c }: { of: Council }) {
  if (!c.end) return null
  const answered = `${count(c, 'answered')} of ${c.members.length} members answered`
  const answer = judgeTurn(c)?.items.map((i) => (i.is === 'answer' ? i.text : '')).join('')
  return (
    <footer class="end">
      {c.end.status === 'failed' && !judgeTurn(c)?.error ? <div class="error"><p><b>{c.end.message}</b></p></div> : null}
      <p class="acts">
        {c.end.status === 'done' && answer ? <Copy label="Copy the answer" text={() => answer} /> : null}
        <span class="aside">{answered} · {seconds(c.end.tookMs)}</span>
      </p>
    </footer>
  )
}
