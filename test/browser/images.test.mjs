// The images of a message that is being written.
import assert from 'node:assert/strict'
import test, { after } from 'node:test'

import { accessible, close, endShown, open, shown, until, world } from './world.mjs'

after(close)

const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')

const picture = (name, buffer = png) => ({ name, mimeType: 'image/png', buffer })

const attached = (page) => page.locator('.attached li span').allTextContents()

const attach = (page, ...files) => page.locator('input[type=file]').setInputFiles(files)

test('images are chosen, pasted, dropped, removed, refused and sent', async (t) => {
  const w = await world(t, { replies: 'say:"A dot."' })
  const page = await open(t, w.page + '#/chat', { context: { bypassCSP: true }, expects: /ERR_/ })
  const button = page.getByRole('button', { name: 'Attach images…' })
  await page.getByLabel('Message').focus()
  for (let n = 0; n < 3 && !(await button.evaluate((e) => e === document.activeElement)); n++) await page.keyboard.press('Tab')
  const chooser = page.waitForEvent('filechooser')
  await page.evaluate(() => {}) // what comes before it in the browser's queue is done: the chooser is watched
  await page.keyboard.press('Enter')
  await (await chooser).setFiles([picture('one.png'), picture('two.png'), { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('no') }, picture('after.png')])
  await shown(page, 'Not attached: notes.txt is not a PNG, JPEG, GIF or WebP image.')
  assert.deepEqual(await attached(page), ['image one.png, 1 x 1, 70 bytes', 'image two.png, 1 x 1, 70 bytes'])
  await accessible(page, 'attached images')
  await attach(page, picture('large.png', Buffer.concat([png, Buffer.alloc(3_932_161 - png.length)])))
  await shown(page, 'Not attached: large.png is larger than 3.75 MiB, which not every provider takes.')
  for (const event of ['paste', 'drop']) {
    await page.getByLabel('Message').evaluate((e, [event, bytes]) => {
      const data = new DataTransfer()
      data.items.add(new File([new Uint8Array(bytes)], event + '.png', { type: 'image/png' }))
      e.dispatchEvent(event === 'paste' ? new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }) : new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))
    }, [event, [...png]])
    await until(`${event}: it is attached`, async () => (await attached(page)).includes(`image ${event}.png, 1 x 1, 70 bytes`))
  }
  await page.getByRole('button', { name: 'Remove two.png' }).focus()
  await page.keyboard.press('Enter')
  assert.equal((await attached(page)).length, 3)
  assert.equal(await page.getByLabel('Message').evaluate((e) => e === document.activeElement), true)
  await shown(page, 'Add a text to send the images')
  await page.goto(w.page + '#/now')
  await page.goto(w.page + '#/chat')
  assert.equal((await attached(page)).length, 3) // another view does not lose them
  await page.context().setOffline(true)
  await page.getByLabel('Message').fill('What is this?')
  await page.getByLabel('Message').press('Enter')
  await shown(page, 'Not sent: the server did not answer')
  assert.equal((await attached(page)).length, 3)
  await page.context().setOffline(false)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.waitForURL(/#\/chat\/.+/)
  await endShown(page)
  assert.equal((await page.locator('.user').innerText()).replace(/\n+/g, '\n'), 'You said:\nWhat is this?\nimage one.png, 1 x 1, 70 bytes\nimage paste.png, 1 x 1, 70 bytes\nimage drop.png, 1 x 1, 70 bytes')
  assert.equal(await page.locator('.attached').count(), 0)
})

test('images that come while another one is read lose none', async (t) => {
  const w = await world(t)
  const page = await open(t, w.page + '#/chat')
  await page.getByLabel('Message').evaluate((e, bytes) => {
    for (const name of ['one.png', 'two.png', 'three.png']) {
      const data = new DataTransfer()
      data.items.add(new File([new Uint8Array(bytes)], name, { type: 'image/png' }))
      e.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))
    }
  }, [...png])
  await until('all are attached', async () => (await attached(page)).length === 3)
})

// inDatabase returns the keys of the images that the browser keeps, after it has kept others and removed all if asked.
const inDatabase = (page, { add = [], clear = false } = {}) => page.evaluate(({ add, clear }) => new Promise((done) => {
  const opening = indexedDB.open('ridethrough', 1)
  opening.onupgradeneeded = () => opening.result.createObjectStore('images')
  opening.onsuccess = () => {
    const changes = opening.result.transaction('images', 'readwrite')
    const images = changes.objectStore('images')
    if (clear) images.clear()
    for (const key of add) images.put({}, key)
    const keys = images.getAllKeys()
    changes.oncomplete = () => (opening.result.close(), done(keys.result))
  }
}), { add, clear })

test('images outlast a reload, until they are sent', async (t) => {
  const w = await world(t, { replies: 'say:"A dot.", say:"Another."' })
  const page = await open(t, w.page + '#/chat')
  await page.getByLabel('Message').fill('What is this?')
  await attach(page, picture('one.png'), picture('two.png'), picture('three.png'))
  await until('all are attached', async () => (await attached(page)).length === 3)
  await until('all are kept', async () => (await inDatabase(page)).length === 3)
  await page.reload()
  await until('all are back', async () => (await attached(page)).length === 3)
  await page.getByRole('button', { name: 'Remove two.png' }).click()
  await until('one is not kept any more', async () => (await inDatabase(page)).length === 2)
  await page.reload()
  await until('two are back', async () => (await attached(page)).length === 2)
  assert.deepEqual(await attached(page), ['image one.png, 1 x 1, 70 bytes', 'image three.png, 1 x 1, 70 bytes'])
  assert.equal(await page.locator('.attached img').first().evaluate((e) => e.naturalWidth), 1)
  assert.equal(await page.getByLabel('Message').inputValue(), 'What is this?')
  const other = await open(t, w.page + '#/chat', { in: page.context() })
  await shown(other, 'Enter sends')
  assert.deepEqual(await attached(other), []) // another tab has a message of its own
  await other.close()

  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.waitForURL(/#\/chat\/.+/)
  await endShown(page)
  assert.equal((await page.locator('.user').innerText()).replace(/\n+/g, '\n'), 'You said:\nWhat is this?\nimage one.png, 1 x 1, 70 bytes\nimage three.png, 1 x 1, 70 bytes')
  await attach(page, picture('here.png'))
  await until('it alone is kept', async () => (await inDatabase(page)).length === 1)
  await page.goto(w.page + '#/chat')
  await page.reload()
  await shown(page, 'Enter sends')
  assert.deepEqual(await attached(page), []) // they were sent, and the other is of the conversation
  await page.goBack()
  await until('it is back', async () => (await attached(page)).includes('image here.png, 1 x 1, 70 bytes'))
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Yes' }).click()
  await page.waitForURL(/#\/chat$/)
  await until('nothing is kept', async () => (await inDatabase(page)).length === 0)
})

test('images that a browser does not keep are named', async (t) => {
  const w = await world(t)
  const page = await open(t, w.page + '#/chat', { context: { bypassCSP: true } })
  await attach(page, picture('one.png'), picture('two.png'))
  await until('both are kept', async () => (await inDatabase(page)).length === 2)
  await inDatabase(page, { clear: true })
  await page.reload()
  await shown(page, 'Lost in the reload: one.png, two.png. Attach again what you want to send.')
  await accessible(page, 'images that are lost')
  await page.addInitScript(() => (IDBFactory.prototype.open = () => { throw new DOMException('no', 'SecurityError') }))
  await page.reload()
  await attach(page, picture('three.png'), picture('four.png'))
  await shown(page, 'A reload would lose three.png, four.png, which the browser does not keep.')
  assert.equal((await attached(page)).length, 2)
  await page.reload()
  await shown(page, 'Lost in the reload: three.png, four.png.')
})

test('a browser keeps so many images, and for a day', async (t) => {
  const w = await world(t)
  const page = await open(t, w.page + '#/chat')
  const hours = (n) => Date.now() - n * 3_600_000
  const add = [`${hours(30)} 70 old`, `${hours(4)} 30000000 more`, `${hours(3)} 20000000 much`, `${hours(2)} 30000000 latest`]
  assert.equal((await inDatabase(page, { add })).length, 4)
  await attach(page, picture('one.png'))
  await until('the others are removed', async () => (await inDatabase(page)).length === 3)
  const sizes = async () => (await inDatabase(page)).map((key) => key.split(' ')[1]).join()
  assert.equal(await sizes(), '20000000,30000000,70')
  await inDatabase(page, { add: [`${hours(25)} 69 old`] })
  await page.reload()
  await until('the old one is removed', async () => (await sizes()) === '20000000,30000000,70')
})
