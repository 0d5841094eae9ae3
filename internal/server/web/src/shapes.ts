// What the server says, as docs/api.md and docs/conversations.md describe it.
// What it does not know is left out.

export interface Wait {
  id: number
  state: 'waiting' | 'trying' | 'queued' | 'paused'
  session?: string
  client?: string
  api: string
  upstream: string
  model?: string
  kind?: string
  cause?: string
  message?: string
  retries: number
  maxRetries?: number
  began: string
  due?: string
  deadline?: string
  remainingMs: number
  waitedMs: number
}

export interface TurnWait {
  conversation: string
  title?: string
  turn: string
  state: 'waiting' | 'trying'
  provider: string
  model: string
  upstream?: string
  kind: string
  cause: string
  message: string
  code?: string
  retries: number
  maxRetries?: number
  began: string
  due?: string
  deadline?: string
  remainingMs: number
  waitedMs: number
}

// Gone says that something is no longer in a list, and how that came about
// where it is known.
export interface Gone {
  wait?: number
  waits?: number[]
  turn?: string
  turns?: string[]
  upstream?: string
  incident?: string
  conversation?: string
  how?: 'recovered' | 'failed' | 'left'
  retries?: number
  waitedMs?: number
}

export interface Outage {
  level: string
  model?: string
  since: string
  kind?: string
  cause?: string
  message?: string
  probes: number
  probing: boolean
  recovering: boolean
  waiting: number
  nextProbe?: string
  quietUntil?: string
  remainingMs: number
}

// Cell counts a quarter of an hour: tries that were answered and that failed, and
// requests that were answered only after retries or not at all.
export interface Cell {
  ok?: number
  failed?: number
  retried?: number
  lost?: number
  firstTokenMs?: number
}

export type Health = 'operational' | 'slow' | 'waiting' | 'down' | 'recovering' | 'paused' | 'no-data'

export interface Upstream {
  name: string
  api?: string
  base?: string
  provider?: string
  source?: 'gateway' | 'conversations'
  actions?: string[]
  state: Health
  pausedSince?: string
  outages: Outage[]
  waiting: number
  lastSuccess?: string
  reason?: string
  until?: string
  untilMs?: number
  samples?: number
  firstTokenMs?: number
  firstTokenBeforeMs?: number
  strip?: Cell[]
  saved?: { calls: number; outages: number; waitedMs: number; retries: number; sinceMs: number }
}

export interface Incident {
  id: string
  upstream: string
  began: string
  ended?: string
  open?: boolean
  tries: number
  failures: number
  calls: number
  callers: number
  held: number
  lost: number
  kinds: { kind: string; cause: string; count: number }[]
  message?: string
  recoveredMs?: number
  clients?: { client: string; calls: number }[]
}

// Tally is how many there are of something of which only some are listed.
export interface Tally {
  of: string
  all: number
}

export interface Heading {
  id: string
  title?: string
  model: string
  created: string
  changed: string
  turnId?: string
  waiting?: boolean
}

export interface Input {
  id: string
  text: string
  at: string
  steers?: boolean
}

export interface Conversation extends Heading {
  seq: number
  queue: Input[]
}

export interface Policy {
  name: string
  source: 'preset' | 'configuration'
  usedBy?: string[]
  sentence: string
  retries: { n: number; waitMs: number; leastMs: number; mostMs: number; atMs: number }[]
  ends: 'retries' | 'sleep' | 'wall' | 'never'
  totalMs: number
  unlimited?: boolean
  kinds?: string[]
  hintMs?: number
}

export interface Hello {
  version: string
  boot: string
  token?: boolean
  conversations?: boolean
}

export interface Problem {
  status: number
  code: string
  title: string
  detail?: string
  conversation?: string
}

// Block is a piece of what a model has said.
export interface Block {
  type: 'text' | 'reasoning' | 'tool-call' | 'tool-result'
  id?: string
  name?: string
  text?: string
  arguments?: unknown
  output?: string
  failed?: boolean
}

// Happening is an event of a conversation; which members it has depends on its
// type.
export interface Happening {
  type: string
  seq: number
  ts: string
  conversationId?: string
  turnId?: string
  id?: string
  text?: string
  inputId?: string
  provider?: string
  model?: string
  content?: Block[]
  reason?: string
  partial?: boolean
  name?: string
  arguments?: unknown
  output?: string | number
  input?: number
  failed?: boolean
  steers?: boolean
  attempt?: number
  delayMs?: number
  remainingMs?: number
  maxRetries?: number
  deadline?: string
  message?: string
  code?: string
  kind?: string
  requestId?: string
  committed?: boolean
  retries?: number
  waitedMs?: number
  from?: string
  to?: string
  why?: string
  summary?: string
  title?: string
  messages?: number
  outputs?: string[]
  status?: 'done' | 'failed' | 'aborted'
  durationMs?: number
  retryCount?: number
  totalRetryDelayMs?: number
  inputTokens?: number
  outputTokens?: number
}

// Standing is where a member of a council stands; '': it has not begun.
export type Standing = '' | 'asking' | 'waiting' | 'answered' | 'failed' | 'cut-off'

// Sat is an event of a council: what is told of its judge's turn is as in
// conversations.
export interface Sat extends Happening {
  members?: string[]
  judge?: string
  quorum?: number
  budgetMs?: number
  graceMs?: number
  member?: number
  state?: Standing
  tries?: number
  tookMs?: number
  answer?: string
}
