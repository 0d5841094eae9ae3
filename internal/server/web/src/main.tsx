// The page: what stands around the views, and what runs as long as it is there.
import { effect, signal } from '@preact/signals'
import { render } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

import { again, begin } from './live'
import { names, view, type Name } from './route'
import { listen, said } from './say'
import { hello, link, waiting } from './store'
import { label } from './title'
import { adopt, keep } from './token'
import { Chat } from './views/chat'
import { CouncilView } from './views/council'
import { Incidents } from './views/incidents'
import { Now } from './views/now'
import { Policies } from './views/policy'
import { Upstreams } from './views/upstreams'

const views: Record<Name, { title: string; show: () => preact.ComponentChild }> = {
  now: { title: 'Now', show: () => <Now /> },
  upstreams: { title: 'Upstreams', show: () => <Upstreams /> },
  incidents: { title: 'Incidents', show: () => <Incidents /> },
  chat: { title: 'Chat', show: () => <Chat /> },
  council: { title: 'Council', show: () => <CouncilView /> },
  policy: { title: 'Policy', show: () => <Policies /> },
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
        <a class="skip" href={`#/${name}`} onClick={(e) => (e.preventDefault(), main.current?.querySelector<HTMLElement>('h1')?.focus())}>Skip to the content</a>
        <span class="brand">ridethrough</span>
        <nav aria-label="Views">
          {names.map((n) => (
            <a key={n} href={`#/${n}`} aria-current={n === name ? 'page' : undefined}>
              {views[n].title}{n === 'now' && waiting.value > 0 ? <span class="count">{waiting.value}<span class="sr"> waiting</span></span> : null}
            </a>
          ))}
        </nav>
        <Connection />
      </header>
      {link.value === 'offline' ? <Offline /> : null}
      <main ref={main} id="content">{link.value === 'denied' ? <Locked /> : views[name].show()}</main>
      <p class="sr" role="status">{said.value}</p>
    </>
  )
}

const linkWords = { connecting: 'connecting…', live: 'live', offline: 'offline', denied: 'locked', resting: 'live' }

function Connection() {
  return <span class={`link ${link.value}`} title={hello.value ? `ridethrough ${hello.value.version}` : undefined}>{linkWords[link.value]}</span>
}

// Offline tells the page's own connection from the provider's: it is another
// trouble, and a smaller one.
function Offline() {
  return (
    <div class="offline" role="alert">
      <p><b>Page offline — work goes on at the server.</b> What you see is as it was; it is looked for again by itself.</p>
      <button type="button" onClick={again}>Reconnect now</button>
    </div>
  )
}

const typed = signal('')
const refused = signal(false) // what was typed
effect(() => void (link.value === 'live' && (refused.value = false)))

// Locked asks for the token of a server that wants one.
function Locked() {
  const open = (e: Event) => {
    e.preventDefault()
    keep(typed.value.trim())
    typed.value = ''
    refused.value = true // unless the page opens
    link.value = 'connecting'
    again()
  }
  return (
    <form class="locked" onSubmit={open}>
      <h1 tabIndex={-1}>This server asks for its token</h1>
      <p>It is the one of its configuration. The page keeps it until this tab is closed.</p>
      <label>Token<input type="password" autoComplete="off" value={typed.value} onInput={(e) => (typed.value = e.currentTarget.value)} /></label>
      {refused.value ? <p class="failed" role="alert">The server does not take that one.</p> : null}
      <button class="first">Open</button>
    </form>
  )
}

adopt()
addEventListener('hashchange', () => adopt() && again()) // an address with another token, in the tab that is open
label()
listen()
begin()
render(<Page />, document.body)
