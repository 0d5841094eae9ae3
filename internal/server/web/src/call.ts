// Requests to the server. Each is sent once: the user repeats it.
import type { Problem } from './api'
import { headers } from './token'

const timeout = 20_000 // ms
const uploadRate = 50 // bytes of a request in each further ms: images take their time

// Failure is why a request failed, in a sentence.
export class Failure extends Error {
  constructor(
    message: string,
    readonly status = 0,
    readonly code = '',
  ) {
    super(message)
  }
}

// ask sends a request to a path below /-/ and returns the answer, or throws a Failure.
export async function ask(method: string, path: string, body?: unknown, accept = 'application/json'): Promise<Response> {
  const text = body === undefined ? null : JSON.stringify(body)
  const sent = headers(body === undefined ? { Accept: accept } : { Accept: accept, 'Content-Type': 'application/json' })
  let answer: Response
  try {
    answer = await fetch('../' + path, {
      method,
      headers: sent,
      body: text,
      signal: AbortSignal.timeout(timeout + (text?.length ?? 0) / uploadRate),
      cache: 'no-store',
    })
  } catch {
    throw new Failure('the server did not answer')
  }
  if (!answer.ok) throw await failure(answer)
  return answer
}

// failure returns the Failure of an answer with a problem document.
export async function failure(answer: Response): Promise<Failure> {
  const problem = (await answer.json().catch(() => ({}))) as Partial<Problem>
  const message = problem.detail ?? problem.title ?? `HTTP ${answer.status}`
  return new Failure(message, answer.status, problem.code)
}

// get returns an answer in JSON.
export const get = async <T>(path: string): Promise<T> => (await (await ask('GET', path)).json()) as T

// post sends JSON and returns the answer in JSON.
export const post = async <T>(path: string, body: unknown = {}): Promise<T> => (await (await ask('POST', path, body)).json()) as T

// part escapes an id or a name for an address.
export const part = encodeURIComponent
