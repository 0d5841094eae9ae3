// The page: the frame of the views, and what runs for as long as it is open.
import { effect, signal } from '@preact/signals'
import { render } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

import { announceEnds, announcement } from './announce'
import { connect, reconnect } from './live'
import { notices, toggleNotices, watchNotices } from './notify'
import { address, names, view, type Name } from './route'
import { help, listed, shortcuts, watchKeys } from './shortcuts'
import { denial, hello, link, lostAt, waiting, warnings } from './store'
import { theme, themes, watchTheme, type Theme } from './theme'
import { clock } from './time'
import { titles, updateTitle } from './title'
import { storeToken, takeToken } from './token'
import { Chat } from './views/chat'
import { CouncilView } from './views/council'
import { Incidents } from './views/incidents'
import { Now } from './views/now'
import { Policies } from './views/policy'
import { RequestsView } from './views/requests'
import { Upstreams } from './views/upstreams'
import { aSentence, lostBanner } from './words'

const views: Record<Name, () => preact.ComponentChild> = {
  now: () => <Now />,
  requests: () => <RequestsView />,
  upstreams: () => <Upstreams />,
  incidents: () => <Incidents />,
  chat: () => <Chat />,
  council: () => <CouncilView />,
  policy: () => <Policies />,
}

function Page() {
  const main = useRef<HTMLElement>(null)
  const name = view.value
  const first = useRef(true)
  useEffect(() => {
    if (!first.current) main.current?.querySelector<HTMLElement>('h1')?.focus()
    first.current = false
  }, [name])
  return (
    <>
      <header class="bar">
        <a class="skip" href={address.value || '#/now'} onClick={(e) => (e.preventDefault(), main.current?.querySelector<HTMLElement>('h1')?.focus())}>Skip to the content</a>
        <span class="brand">ridethrough</span>
        {link.value === 'denied' ? null : <nav aria-label="Views">
          {names.map((n) => (
            <a key={n} href={`#/${n}`} aria-current={n === name ? 'page' : undefined}>
              {titles[n]}{n === 'now' && waiting.value > 0 && lostAt.value === null ? <span class="count">{waiting.value}<span class="sr"> waiting</span></span> : null}
            </a>
          ))}
        </nav>}
        <div class="ends">{link.value === 'denied' ? null : <Notices />}<button type="button" class="quiet help" aria-label="Keys and colors" onClick={() => (help.value = true)}>?</button><Connection /></div>
      </header>
      {lostAt.value === null ? null : <Lost since={lostAt.value} />}
      <Warnings />
      <main ref={main} id="content">{link.value === 'denied' ? <Locked /> : name ? views[name]() : <NoView />}</main>
      {help.value ? <Help /> : null}
      <p class="sr" role="status">{announcement.value}</p>
    </>
  )
}

const linkWords = { connecting: 'connecting…', live: 'live', offline: 'offline', denied: 'locked', resting: 'live' }

function Connection() {
  return <span class={`link ${link.value}`} title={hello.value ? `ridethrough ${hello.value.version}` : undefined}>{linkWords[link.value]}</span>
}

// NoView is shown for an unknown address.
const NoView = () => (
  <header class="title">
    <h1 tabIndex={-1}>No view has this address</h1>
    <p><code>{address.value}</code> is not an address of this page. <a href="#/now">See what happens now</a>.</p>
  </header>
)

const themeWords: Record<Theme, string> = { system: 'As the system', light: 'Light', dark: 'Dark' }

// Themes chooses the colours.
const Themes = () => (
  <label>Colors
    <select value={theme.value} onChange={(e) => (theme.value = e.currentTarget.value as Theme)}>{themes.map((t) => <option key={t} value={t}>{themeWords[t]}</option>)}</select>
  </label>
)

// Help lists the keys, and chooses the colours.
function Help() {
  const self = useRef<HTMLDialogElement>(null)
  useEffect(() => self.current?.showModal(), [])
  return (
    <dialog ref={self} aria-labelledby="keys" onClose={() => (help.value = false)}>
      <h2 id="keys">Keys and colors</h2>
      <dl class="keys-list">{listed.map(([k, does]) => <div key={k}><dt><kbd>{k}</kbd></dt><dd>{does}</dd></div>)}</dl>
      <p><label class="check"><input type="checkbox" checked={shortcuts.value} onChange={(e) => (shortcuts.value = e.currentTarget.checked)} /> Keys act outside fields</label></p>
      <Themes />
      <p class="acts"><button type="button" onClick={() => self.current?.close()}>Close</button></p>
    </dialog>
  )
}

// Notices turns notices on the desktop on and off.
function Notices() {
  const on = notices.value === 'on'
  if (notices.value === 'never') return null
  return <button type="button" class="quiet notices" aria-pressed={on} title="Desktop notices of an outage, its end and a usage limit" onClick={toggleNotices}>{on ? 'Notices on' : 'Notify me'}</button>
}

// Lost shows that the page has lost the server, which says nothing about what happens there.
function Lost({ since }: { since: number }) {
  return (
    <div class="lost" role="alert">
      <p><b>{lostBanner(clock(new Date(since).toISOString()))}</b> The page reconnects by itself.</p>
      <button type="button" onClick={reconnect}>Reconnect now</button>
    </div>
  )
}

// Warnings shows what needs the operator, such as a store that cannot be opened.
function Warnings() {
  const all = warnings.keys.value
  return all.length === 0 ? null : <div role="alert"><ul class="warnings">{all.map((text) => <li key={text}>{aSentence(text)}</li>)}</ul></div>
}

const typed = signal('')
const refused = signal(false) // the typed token
effect(() => void (link.value === 'live' && (refused.value = false)))

// Locked asks for the token of a server that needs one.
function Locked() {
  const open = (e: Event) => {
    e.preventDefault()
    storeToken(typed.value.trim())
    typed.value = ''
    refused.value = true // until the page opens
    link.value = 'connecting'
    reconnect()
  }
  return (
    <form class="locked" onSubmit={open}>
      <header class="title">
        <h1 tabIndex={-1}>This server needs a token</h1>
        <p>Ask its operator for one. This tab forgets it when it is closed.</p>
      </header>
      <label>Token<input type="password" autoComplete="off" value={typed.value} onInput={(e) => (typed.value = e.currentTarget.value)} /></label>
      {refused.value || denial.value ? <p class="failed" role="alert">The server does not accept this token{denial.value ? `: ${denial.value}` : ''}.</p> : null}
      <button class="first">Open</button>
    </form>
  )
}

takeToken()
addEventListener('hashchange', () => takeToken() && reconnect()) // an address with another token, opened in this tab
watchTheme()
watchKeys()
updateTitle()
announceEnds()
watchNotices()
connect()
render(<Page />, document.body)
