// The JSON of the server, as docs/api.md and docs/conversations.md describe it. Unknown members are left out.

// Wait is the wait of a call or a turn for its next try.
export interface Wait {
  kind?: string | undefined
  cause?: string | undefined
  code?: string | undefined // such as "529", or a word where no server has answered
  message?: string
  retries: number // made so far
  maxRetries?: number | undefined // left out: no limit
  due?: string // on the server's clock; left out: unknown, or now
  deadline?: string | undefined // left out: none
  opensAt?: string | undefined // when the usage window opens that is spent; left out: none is
  remainingMs: number // until due
}

// ListedWait is a wait in a list of the server.
interface ListedWait extends Wait {
  state: 'waiting' | 'trying' | 'queued' | 'paused'
  model?: string
  outage?: string // whose end it waits for, by its name; left out: none
  began: string
  waitedMs: number
}

export interface CallWait extends ListedWait {
  id: number
  afterContent?: boolean // part of the answer is out, which broke off
  cachedUntil?: string // the end of the session's prompt cache; left out: none is known
  cacheTokens?: number // that it holds
  next?: string // the fallback where skip sends it; left out: none
  session?: string
  client?: string
  api: string
  upstream: string
  replica?: string // of the fleet, that has it; left out: the one that answers
}

export interface TurnWait extends ListedWait {
  conversation: string
  title?: string
  turn: string
  provider: string
  upstream?: string
}

// Removal removes items from a list; how a wait ended is known for most.
export interface Removal {
  wait?: number
  waits?: number[]
  turn?: string
  turns?: string[]
  upstream?: string
  incident?: string
  conversation?: string
  warning?: string
  how?: 'recovered' | 'failed' | 'left'
  retries?: number
  waitedMs?: number
}

// Warning is a sentence for the operator, such as that the store is damaged.
export interface Warning {
  text: string
}

export interface Outage {
  name: string // by which waits name it
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

export type Health = 'operational' | 'slow' | 'degraded' | 'waiting' | 'down' | 'recovering' | 'paused' | 'no-data'

// Limit is a limit that the upstream states, and how much of it is used.
export interface Limit {
  credential: string
  model?: string
  name: string
  unit: string
  limit?: number
  remaining: number
  usedPercent: number
  resetAt?: string
  resetMs?: number
}

// Vendor is what the provider's status page says while the upstream fails, beside what was measured here.
export interface Vendor {
  says: string
  fine: boolean
  readAt: string
  tries: number
  failures: number
}

export interface Upstream {
  name: string
  api?: string
  base?: string
  provider?: string
  source?: 'gateway' | 'conversations'
  actions?: string[]
  state: Health
  pausedSince?: string
  failing?: string[] // models
  outages: Outage[]
  waiting: number
  lastSuccess?: string
  reason?: string
  until?: string
  untilMs?: number
  samples?: number
  firstTokenMs?: number
  firstTokenBeforeMs?: number
  firstByte?: { model: string; limitMs: number }[] // learned limits, the longest first
  vendor?: Vendor
  limits?: Limit[] // the most used first
  saved?: Saved
}

// Saved is what waiting achieved in the last day.
export interface Saved {
  calls: number
  outages: number
  retries: number
  waitedMs: number
  sinceMs: number
}

export interface Incident {
  id: string
  upstream: string
  began: string
  ended?: string
  open?: boolean
  models?: string[]
  partial?: boolean
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
  elsewhere?: Elsewhere[]
}

// Elsewhere is an incident as another gateway of a fleet has met it.
export interface Elsewhere {
  replica: string
  began: string
  ended?: string
  calls: number
}

export type Outcome = 'answered' | 'failed' | 'broke-off' | 'left'

// Ended is a request that has ended, or a turn.
export interface Ended {
  id?: number
  turn?: string
  began: string
  tookMs: number
  waitedMs?: number
  client?: string
  session?: string
  upstream: string
  model?: string
  tries: number
  outcome: Outcome
  cause?: string
  status?: number
  inputTokens?: number
  outputTokens?: number
}

// Setup is how programs use the gateway. {url} is its address.
export interface Setup {
  token: boolean
  programs: { name: string; file?: string; text: string; also?: string }[]
}

// Tally is the size of a list of which only some items are shown.
export interface Tally {
  of: string
  all: number
}

export interface Summary {
  id: string
  title?: string
  model: string
  created: string
  changed: string
  turnId?: string
  waiting?: boolean
  pausedSince?: string
}

// Image describes an image of a message. The page never has its bytes.
export interface Image {
  name?: string
  mediaType: string
  bytes: number
  width: number
  height: number
}

export interface Input {
  id: string
  text: string
  at: string
  images?: readonly Image[]
  steers?: boolean
  compact?: boolean // it asks for a smaller history; the text is what it asks of the summary
}

export interface Conversation extends Summary {
  seq: number
  agent?: string // whose tools the model may call
  approval?: { id: string; name: string } // the call that waits for approval
  queue: Input[]
}

export interface Policy {
  name: string
  source: 'preset' | 'configuration'
  usedBy?: string[]
  sentence: string
  retries: { n: number; waitMs: number; leastMs: number; mostMs: number; atMs: number }[]
  ends: 'retries' | 'max-total-wait' | 'deadline' | 'never'
  totalMs: number
  unlimited?: boolean
  retryOn?: string[]
  maxRetryAfterMs?: number
}

export interface Hello {
  version: string
  boot: string
  replica?: string // the name of this gateway in its fleet; left out: it is in none
  token?: boolean
  acts?: boolean // the token permits actions
  conversations?: boolean
  model?: string // the default model of new conversations; left out: each must name one
  agents?: string[]
}

export interface Problem {
  status: number
  code: string
  title: string
  detail?: string
  conversation?: string
}

// Block is a part of a model's answer.
export interface Block {
  type: 'text' | 'reasoning' | 'tool-call' | 'tool-result'
  id?: string
  name?: string
  text?: string
  arguments?: unknown
  output?: string
  failed?: boolean
}

// ConversationEvent is an event of a conversation; its type decides which members it has.
// Decision answers a request for approval.
export type Decision = 'allow-once' | 'allow-always' | 'deny'

export interface ConversationEvent {
  type: string
  seq: number
  ts: string
  conversationId?: string
  turnId?: string
  id?: string
  text?: string
  inputId?: string
  images?: Image[]
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
  attempt?: number
  delayMs?: number
  remainingMs?: number
  maxRetries?: number
  opensAt?: string
  deadline?: string
  message?: string
  code?: string
  kind?: string
  requestId?: string
  committed?: boolean
  imagesRefused?: boolean
  retries?: number
  waitedMs?: number
  from?: string
  to?: string
  why?: string
  summary?: string
  title?: string
  messages?: number
  outputs?: string[]
  compact?: boolean
  instruction?: string
  asked?: boolean
  tokensBefore?: number
  tokensAfter?: number
  until?: string
  server?: string
  decision?: Decision | 'expired'
  agent?: string
  status?: 'done' | 'failed' | 'aborted'
  durationMs?: number
  retryCount?: number
  totalRetryDelayMs?: number
  inputTokens?: number
  outputTokens?: number
}

// MemberState is the state of a council's member; '': it has not begun.
export type MemberState = '' | 'asking' | 'waiting' | 'answered' | 'failed' | 'cut-off'

// CouncilEvent is an event of a council. Those of its judge's turn are as in conversations.
export interface CouncilEvent extends ConversationEvent {
  members?: string[]
  judge?: string
  quorum?: number
  budgetMs?: number
  graceMs?: number
  member?: number
  state?: MemberState
  tries?: number
  tookMs?: number
  answer?: string
}
