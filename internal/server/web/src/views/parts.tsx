// Components that several views share.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

import type { Health, Image } from '../api'
import { canAct, lostAt } from '../store'
import { capital, pictured, shownName } from '../words'

// looks are the word, the shape and the colour of each state: none of them is needed to tell states apart.
const looks: Record<Health, { word: string; tone: string; shape: ComponentChildren }> = {
  'operational': { word: 'Operational', tone: 'good', shape: <circle cx="8" cy="8" r="6" /> },
  'slow': { word: 'Slow', tone: 'amber', shape: <><circle cx="8" cy="8" r="6" class="hollow" /><path d="M8 2a6 6 0 0 0 0 12z" /></> },
  'degraded': { word: 'Degraded', tone: 'amber', shape: <><path d="M2 2h12v12H2z" class="hollow" /><path d="M2 8h12v6H2z" /></> },
  'waiting': { word: 'Waiting', tone: 'amber', shape: <path d="M8 1.500 15 14H1z" /> },
  'down': { word: 'Down', tone: 'bad', shape: <path d="M2 2h12v12H2z" /> },
  'recovering': { word: 'Recovering', tone: 'good', shape: <path d="M8 1l7 7-7 7-7-7z" class="hollow" /> },
  'paused': { word: 'Paused', tone: 'mute', shape: <path d="M3 2h4v12H3zM9 2h4v12H9z" /> },
  'no-data': { word: 'No data', tone: 'mute', shape: <circle cx="8" cy="8" r="5" class="hollow dashed" /> },
}

// Images says in a line each what images a message has. They are never drawn: their bytes stay with the server.
export const Images = ({ of }: { of: readonly Image[] | undefined }) => (of?.length ? <p class="aside said">{of.map(pictured).join('\n')}</p> : null)

export const wordOf = (state: Health): string => looks[state]?.word ?? state

// nameOf is the name of an upstream to show.
export const nameOf = shownName

// Mark draws the shape of a state, to stand beside its word.
export function Mark({ state }: { state: Health }) {
  const look = looks[state] ?? looks['no-data']
  return (
    <svg class={`mark ${look.tone}`} viewBox="0 0 16 16" aria-hidden="true">
      {look.shape}
    </svg>
  )
}

interface ActProps {
  label: ComponentChildren
  busy?: string // the label while it acts
  act: () => Promise<unknown>
  kind?: 'first' | 'quiet'
  name?: string // for screen readers, which read it without its surroundings
  sure?: string // a question to confirm first
  always?: boolean // it changes nothing at the server: also for those who may only see, and without the connection
}

let focused: Node | null = null // the last node that had the focus, even if it was removed
addEventListener('focusin', (e) => (focused = e.target as Node))

// catchFocus moves the focus of a removed node to the title of the view: keyboard users would start at the
// top of the page again.
function catchFocus(): void {
  if (document.activeElement === document.body) document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true })
}

// Act is a button that sends a request: disabled while it is in progress, with the reason beside it if it
// fails.
export function Act({ label, busy, act, kind, name, sure, always = false }: ActProps) {
  const [state, set] = useState<'idle' | 'asking' | 'busy'>('idle')
  const [failed, fail] = useState('')
  const alive = useRef(true)
  const first = useRef<HTMLButtonElement>(null)
  const last = useRef(state)
  const node = useRef<HTMLElement | null>(null)
  const self = (e: HTMLElement | null) => void (node.current = e ?? node.current) // needed when the node is removed
  useEffect(() => () => {
    alive.current = false
    if (node.current?.contains(focused)) setTimeout(catchFocus)
  }, [])
  useEffect(() => {
    if (state === 'asking') first.current?.focus()
    else if (last.current === 'asking' && document.activeElement === document.body) node.current?.querySelector('button')?.focus()
    last.current = state
  }, [state])
  if (!always && !canAct()) return null
  const run = async () => {
    if (state === 'busy') return // a disabled button would lose the focus
    set('busy')
    fail('')
    const error = await act().then(() => '', (e: Error) => e.message)
    if (!alive.current) return
    set('idle')
    fail(error)
  }
  if (state === 'asking') {
    return (
      <span class="sure" ref={self} role="group" aria-label={sure} onKeyDown={(e) => e.key === 'Escape' && set('idle')}>
        <span>{sure}</span>
        <button type="button" ref={first} onClick={run}>Yes</button>
        <button type="button" class="quiet" onClick={() => set('idle')}>No</button>
      </span>
    )
  }
  return (
    <span class="act" ref={self}>
      <button type="button" class={kind} aria-disabled={state === 'busy'} aria-label={name} onClick={() => (sure ? set('asking') : void run())}>
        {state === 'busy' ? (busy ?? label) : label}
      </button>
      {failed && <span class="failed" role="alert">Not done: {failed}</span>}
    </span>
  )
}

// copy puts a text on the clipboard. Without TLS, browsers have no navigator.clipboard.
export async function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

// Copy is a button that copies a text and confirms it.
export function Copy({ text, label = 'Copy', name }: { text: () => string | Promise<string>; label?: ComponentChildren; name?: string }) {
  const [done, set] = useState(false)
  useEffect(() => {
    if (!done) return
    const timer = setTimeout(set, 2000, false)
    return () => clearTimeout(timer)
  }, [done])
  return <Act always kind="quiet" {...(name && !done ? { name } : {})} label={done ? 'Copied' : label} act={async () => (await copy(await text()), set(true))} />
}

// Facts are pairs of a name and a value; those without a value are left out.
export function Facts({ of }: { of: [name: string, value: ComponentChildren][] }) {
  return (
    <dl class="facts">
      {of.filter(([, value]) => value !== undefined && value !== '' && value !== false).map(([name, value]) => (
        <div key={name} class={typeof value === 'string' && value.length > 20 ? 'wide' : ''}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

// Missing is shown in place of what the server has not told: it was not reached, or why not.
export function Missing({ what, failed }: { what: string; failed: string }) {
  if (lostAt.value !== null) return <Empty title={`${what} could not be loaded`}>It is tried again when the connection is back.</Empty>
  return failed ? <Empty title={`${what} could not be loaded`}>{capital(failed)}.</Empty> : null
}

// Empty shows that there is nothing, and why.
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="lead">{title}</p>
      {children && <p>{children}</p>}
    </div>
  )
}
