// The images of the messages that are being written. They are kept until the server has them: in memory, and for a
// reload in the browser's database, since the storage of a tab has no room for them. That says which there were, so
// that none is lost without a word.
import { signal, type Signal } from '@preact/signals'

import type { Attached } from './images'
import { imagesLost, imagesUnkept } from './words'

const bound = 48 << 20 // bytes of all images that the database keeps, for all tabs: four messages that are full
const keptFor = 24 * 3_600_000 // ms: a tab that was closed does not remove its own

// Draft is the images of a message.
export interface Draft {
  images: Signal<readonly Attached[]>
  notice: Signal<string> // which images are lost, or would be
  restored: Promise<void> // ends when the images of before a reload are there
}

const drafts = new Map<string, Draft>()

// draftOf returns the draft of a place.
export function draftOf(place: string): Draft {
  const known = drafts.get(place)
  if (known) return known
  const draft: Draft = { images: signal([]), notice: signal(''), restored: Promise.resolve() }
  drafts.set(place, draft)
  draft.restored = restore(place, draft)
  return draft
}

// again is a text that the user edits before sending it again, and the field that gets it.
export const again = signal<{ place: string; text: string } | null>(null)

// writeAgain puts a text into the field of a place, to be changed and sent.
export const writeAgain = (place: string, text: string): void => void (again.value = { place, text })

// setImages changes the images of a place's draft.
export async function setImages(place: string, to: readonly Attached[]): Promise<void> {
  const { images, notice } = draftOf(place)
  const before = images.value
  images.value = to
  notice.value = ''
  list(place, to)
  await store(to.filter((i) => !before.includes(i)), before.filter((i) => !to.includes(i)))
  const names = images.value.filter((i) => unkept.has(i.key)).map((i) => i.name ?? '')
  if (names.length > 0) notice.value = imagesUnkept(names)
}

const unkept = new Set<string>() // the keys of images that the database does not take

const listKey = (place: string): string => 'ridethrough-images ' + place

// list writes down which images a draft has.
function list(place: string, images: readonly Attached[]): void {
  if (images.length === 0) sessionStorage.removeItem(listKey(place))
  else sessionStorage.setItem(listKey(place), JSON.stringify(images.map((i) => [i.key, i.name ?? ''])))
}

async function restore(place: string, { images, notice }: Draft): Promise<void> {
  const trimmed = (trimming ??= trim().catch(() => {}))
  const listed = JSON.parse(sessionStorage.getItem(listKey(place)) ?? '[]') as [key: string, name: string][]
  if (listed.length === 0) return
  await trimmed
  const found = await Promise.all(listed.map(([key]) => inDatabase<Attached | undefined>('readonly', (s) => s.get(key)).catch(() => undefined)))
  const lost = listed.filter((_, n) => !found[n]).map(([, name]) => name)
  images.value = found.filter((i) => i !== undefined)
  if (lost.length > 0) notice.value = imagesLost(lost)
}

// store adds images to the database, and removes others.
async function store(added: readonly Attached[], removed: readonly Attached[]): Promise<void> {
  for (const i of removed) await inDatabase('readwrite', (s) => s.delete(i.key)).catch(() => {})
  for (const i of added) await inDatabase('readwrite', (s) => s.put(i, i.key)).catch(() => unkept.add(i.key))
  if (added.length > 0) await trim().catch(() => {})
}

// newKey returns a key for an image. The keys of older images come first, and each says how large its image is.
export function newKey(bytes: number): string {
  return `${Date.now()} ${bytes} ${crypto.getRandomValues(new Uint32Array(2)).join('')}`
}

let trimming: Promise<void> | undefined // the first, when the page was opened

// trim removes the oldest images that the database has no room for, and those that are too old.
async function trim(): Promise<void> {
  let sum = 0
  const keys = (await inDatabase('readonly', (s) => s.getAllKeys())) as string[]
  for (const key of keys.reverse()) {
    const [at, bytes] = key.split(' ').map(Number)
    sum += bytes ?? 0
    if (sum > bound || (at ?? 0) < Date.now() - keptFor) await inDatabase('readwrite', (s) => s.delete(key))
  }
}

let opened: Promise<IDBDatabase> | undefined

function open(): Promise<IDBDatabase> {
  return new Promise((yes, no) => {
    const asked = indexedDB.open('ridethrough', 1)
    asked.onupgradeneeded = () => asked.result.createObjectStore('images')
    asked.onsuccess = () => yes(asked.result)
    asked.onerror = () => no(asked.error)
  })
}

// inDatabase sends a request to the database, and returns its result once it is kept.
async function inDatabase<T>(mode: IDBTransactionMode, request: (images: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const database = await (opened ??= open())
  return new Promise((yes, no) => {
    const transaction = database.transaction('images', mode)
    const asked = request(transaction.objectStore('images'))
    transaction.oncomplete = () => yes(asked.result)
    transaction.onabort = () => no(transaction.error)
  })
}
