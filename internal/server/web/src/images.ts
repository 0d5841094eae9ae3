// Images that are attached to a message until it is sent. The bounds and the sentences are those of package llm,
// which test/words.json has; the server checks them again.
import type { Image } from './api'
import { newKey } from './drafts'

const maxImage = 3_932_160 // bytes of one
const maxImages = 20 // in a message
const maxTogether = 12 << 20 // bytes of all in a message
const maxSide = 8000 // pixels

// Attached is an image with its file.
export interface Attached extends Image {
  key: string // no other has it
  url: string // the file as a data URL
}

// read returns the image of a file, or throws a sentence that says why it is not attached.
export async function read(file: File): Promise<Attached> {
  const name = file.name || 'The image'
  const bytes = await file.slice(0, maxImage + 1).arrayBuffer().then((b) => new Uint8Array(b), () => null)
  if (!bytes) throw new Error(`${name} cannot be read.`)
  const [image, wrong] = imageOf(file.name, bytes)
  if (!image) throw new Error(`${name} ${wrong}.`)
  return { ...image, key: newKey(bytes.length), url: `data:${image.mediaType};base64,${base64(bytes)}` }
}

// attach returns a message's images with another one, or throws a sentence that says why it is not attached.
export function attach(to: readonly Attached[], image: Attached): readonly Attached[] {
  const all = [...to, image]
  const full = wrongTogether(all)
  if (full) throw new Error(`${image.name || 'The image'} does not fit: ${full}.`)
  return all
}

// sent returns an image as the server takes it.
export const sent = (i: Attached): { name: string; data: string } => ({ name: i.name ?? '', data: i.url.slice(i.url.indexOf(',') + 1) })

// imageOf returns what an image's file says that it is, or what is wrong with it.
export function imageOf(name: string, file: Uint8Array): [Image | null, string] {
  const mediaType = typeOf(letters(file, 0, 12))
  if (!mediaType) return [null, 'is not a PNG, JPEG, GIF or WebP image']
  if (file.length > maxImage) return [null, 'is larger than 3.75 MiB, which not every provider takes']
  const [width, height] = sizeOf(mediaType, file)
  if (width < 1 || height < 1) return [null, 'is damaged: it does not say how many pixels it has']
  if (width > maxSide || height > maxSide) return [null, `has ${width} x ${height} pixels, more than ${maxSide} each way`]
  return [{ name, mediaType, bytes: file.length, width, height }, '']
}

// wrongTogether returns what is wrong with the images of a message taken together; "": nothing.
export function wrongTogether(images: readonly Image[]): string {
  if (images.length > maxImages) return `${images.length} images are more than the ${maxImages} that a message may have`
  if (images.reduce((sum, i) => sum + i.bytes, 0) > maxTogether) return 'the images of a message may have 12 MiB together'
  return ''
}

const letters = (file: Uint8Array, from: number, to: number): string => String.fromCharCode(...file.subarray(from, to))

// typeOf returns the media type of an image by how its file begins; "": a message may not have such an image.
function typeOf(begins: string): string {
  if (begins.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (begins.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (/^GIF8[79]a/.test(begins)) return 'image/gif'
  return begins.startsWith('RIFF') && begins.endsWith('WEBP') ? 'image/webp' : ''
}

type Size = [width: number, height: number]

// sizeOf returns the pixels of an image as its header states them; 0: it does not.
function sizeOf(mediaType: string, file: Uint8Array): Size {
  const v = new DataView(file.buffer, file.byteOffset, file.length)
  try {
    if (mediaType === 'image/jpeg') return jpegSize(v)
    if (mediaType === 'image/gif') return [v.getUint16(6, true), v.getUint16(8, true)]
    const chunk = letters(file, 12, 16)
    if (mediaType === 'image/webp') return webpSize(chunk, v)
    return chunk === 'IHDR' ? [v.getUint32(16), v.getUint32(20)] : [0, 0]
  } catch {
    return [0, 0] // the file ends before
  }
}

// jpegSize finds the size among the segments of a JPEG: it is in the header of the frame, whose mark is one of 16.
function jpegSize(v: DataView): Size {
  for (let at = 2; v.getUint8(at) === 0xff; ) {
    const mark = v.getUint8(at + 1)
    if (mark === 0xff) { // filler
      at++
      continue
    }
    if ((mark & 0xf0) === 0xc0 && ![0xc4, 0xc8, 0xcc].includes(mark)) return [v.getUint16(at + 7), v.getUint16(at + 5)]
    const length = v.getUint16(at + 2)
    if (length < 2) break
    at += 2 + length
  }
  return [0, 0]
}

// webpSize reads the size from the first chunk of a WebP, which is lossy, lossless or extended.
function webpSize(chunk: string, v: DataView): Size {
  const bits = v.getUint32(21, true)
  if (chunk === 'VP8 ' && v.getUint8(23) === 0x9d && v.getUint8(24) === 0x01 && v.getUint8(25) === 0x2a) return [v.getUint16(26, true) & 0x3fff, v.getUint16(28, true) & 0x3fff]
  if (chunk === 'VP8L' && v.getUint8(20) === 0x2f) return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1]
  if (chunk === 'VP8X') return [(v.getUint32(24, true) & 0xffffff) + 1, (v.getUint32(26, true) >>> 8) + 1]
  return [0, 0]
}

const piece = 0x8000 // bytes that one call of a function takes as its arguments

// base64 encodes a file.
function base64(file: Uint8Array): string {
  let text = ''
  for (let at = 0; at < file.length; at += piece) text += letters(file, at, at + piece)
  return btoa(text)
}
