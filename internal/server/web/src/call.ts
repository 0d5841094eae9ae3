// What the page asks the server to do. Each call is made once: it is a person
// who presses a button again.
import type { Problem } from './shapes'
import { headers } from './token'

const patience = 20_000 // ms for an answer to a press of a button

// Failure says in a sentence why something was not done.
export class Failure extends Error {
  constructor(
    message: string,
    readonly status = 0,
    readonly code = '',
  ) {
    super(message)
  }
}

// ask sends a request below /-/ and gives the answer, or throws a Failure.
export async function ask(method: string, path: string, body?: unknown, accept = 'application/json'): Promise<Response> {
  const head = headers(body === undefined ? { Accept: accept } : { Accept: accept, 'Content-Type': 'application/json' })
  let answer: Response
  try {
    answer = await fetch('../' + path, {
      method,
      headers: head,
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(patience),
      cache: 'no-store',
    })
  } catch {
    throw new Failure('the server did not answer')
  }
  if (!answer.ok) throw await failure(answer)
  return answer
}

// failure reads the problem document of an answer.
export async function failure(answer: Response): Promise<Failure> {
  const problem = (await answer.json().catch(() => ({}))) as Partial<Problem>
  const words = problem.detail ?? problem.title ?? `HTTP ${answer.status}`
  return new Failure(words, answer.status, problem.code)
}

// get gives an answer in JSON.
export const get = async <T>(path: string): Promise<T> => (await (await ask('GET', path)).json()) as T

// post does something and gives what the server says of it.
export const post = async <T>(path: string, body: unknown = {}): Promise<T> => (await (await ask('POST', path, body)).json()) as T

// part makes a part of an address of an id or a name.
export const part = encodeURIComponent
