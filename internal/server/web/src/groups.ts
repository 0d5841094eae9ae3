// The waits by upstream, and there by program and session: many calls of one are one row until it is opened.
import { computed } from '@preact/signals'

import { nextOf, sooner, type AnyWait, type Next } from './next'
import { callerOf, turns, upstreams, waits } from './store'

const foldAbove = 3 // calls of a program or a session that are rows of their own

// Item is a call by its number, or a turn by its conversation.
export type Item = number | string

// Fold is the calls of a program, or of one of its sessions.
export interface Fold {
  key: string
  name: string // of the program; "": it is a session's
  session: string // "": several, or none is known
  nodes: Node[]
  calls: number
  sessions: number // 0: they name none
  models: string[]
  first: Lead
  began: string // of the oldest
}

export type Node = Item | Fold

// Lead is the wait that comes next, and what comes.
export interface Lead {
  wait: AnyWait
  next: Next
}

// Group is all waits for one upstream.
export interface Group {
  name: string
  nodes: Node[]
  calls: number
  first: Lead
}

interface Listed extends Lead {
  item: Item
  program: string
  session: string
}

// groups are the waits by upstream.
export const groups = computed<Group[]>(() => {
  void waits.version.value
  void turns.version.value
  void upstreams.version.value
  const byName = new Map<string, Listed[]>()
  const add = (upstream: string, wait: AnyWait, item: Item, program: string, session: string) => {
    push(byName, upstream, { wait, next: nextOf(wait, upstreams.peek(upstream)), item, program, session })
  }
  for (const w of waits.all()) add(w.upstream, w, w.id, w.client ? callerOf(w) : '', w.session ?? '')
  for (const t of turns.all()) add(t.upstream ?? t.provider, t, t.conversation, conversationsOf, '')
  return [...byName].map(([name, all]) => ({ name, nodes: nodesOf(all, name), calls: all.length, first: firstOf(all) }))
})

// conversationsOf is the program of turns.
export const conversationsOf = 'Conversations'

function push<K, V>(to: Map<K, V[]>, key: K, v: V): void {
  const all = to.get(key)
  if (all) all.push(v)
  else to.set(key, [v])
}

const alikeAbove = 3 // upstreams that fail for one reason and are shown by themselves

// alike puts values with one reason together where there are many of them, in the order of the first of each.
export function alike<V>(all: readonly V[], reasonOf: (v: V) => string): (V | { reason: string; of: V[] })[] {
  const byReason = new Map<string, V[]>()
  for (const v of all) push(byReason, reasonOf(v), v)
  return [...byReason].flatMap(([reason, of]): (V | { reason: string; of: V[] })[] => (reason && of.length > alikeAbove ? [{ reason, of }] : of))
}

const firstOf = (all: Listed[]): Lead => all.reduce((a, b) => (sooner(b.next, a.next) ? b : a))

// nodesOf returns the rows of an upstream, in the order of their oldest calls.
function nodesOf(all: Listed[], key: string): Node[] {
  const programs = new Map<string, Listed[]>()
  for (const one of all) push(programs, one.program, one)
  return [...programs].flatMap(([name, calls]): Node[] => (calls.length > foldAbove && name !== '' ? [foldOf(calls, key + '/' + name, name)] : items(calls)))
}

const items = (all: Listed[]): Item[] => all.map((one) => one.item)

// foldOf folds the calls of a program. Those of a session that has many fold again.
function foldOf(all: Listed[], key: string, name: string): Fold {
  const sessions = new Map<string, Listed[]>()
  for (const one of all) push(sessions, one.session, one)
  const nodes = sessions.size < 2 ? items(all) : [...sessions].flatMap(([session, calls]): Node[] =>
    calls.length > foldAbove && session !== '' ? [{ ...shared(calls), key: key + '/' + session, name: '', session, nodes: items(calls), sessions: 1 }] : items(calls))
  const [only] = sessions.size === 1 ? sessions.keys() : ['']
  return { ...shared(all), key, name, session: only ?? '', nodes, sessions: sessions.size - Number(sessions.has('')) }
}

const shared = (all: Listed[]) => ({
  calls: all.length,
  models: [...new Set(all.map((one) => one.wait.model ?? ''))].filter(Boolean),
  first: firstOf(all),
  began: all.reduce((oldest, one) => (one.wait.began < oldest ? one.wait.began : oldest), all[0]?.wait.began ?? ''),
})
