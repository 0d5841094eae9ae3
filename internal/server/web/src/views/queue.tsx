// The inputs that wait for their turn.
import { useState } from 'preact/hooks'

import { ask, part, post } from '../call'
import type { Input } from '../api'
import { canAct } from '../store'
import { compactCommand } from '../words'
import { Act, Images } from './parts'

export function Queue({ queue, conversation, open }: { queue: readonly Input[]; conversation: string; open: boolean }) {
  if (queue.length === 0) return null
  return (
    <section class="queue" aria-labelledby="queue">
      <h2 id="queue">Next</h2>
      <ol>{queue.map((i) => <Waiting key={i.id} input={i} at={`conversations/${part(conversation)}/queue/${part(i.id)}`} open={open} />)}</ol>
    </section>
  )
}

function Waiting({ input, at, open }: { input: Input; at: string; open: boolean }) {
  const [text, edit] = useState<string | null>(null)
  const [steers, steer] = useState(input.steers ?? false)
  const save = async () => {
    await ask('PATCH', at, { text })
    edit(null)
  }
  if (text !== null) {
    return (
      <li>
        <label><span class="sr">Edit the queued message</span><textarea value={text} rows={2} onInput={(e) => edit(e.currentTarget.value)} /></label>
        <p class="acts"><Act kind="first" label="Save" act={save} /><button type="button" class="quiet" onClick={() => edit(null)}>Cancel</button></p>
      </li>
    )
  }
  return (
    <li>
      <p class="said">{input.compact ? <code>{compactCommand(input.text)}</code> : input.text}</p>
      <Images of={input.images} />
      <p class="acts">
        {canAct() && !input.compact ? <button type="button" class="quiet" onClick={() => edit(input.text)}>Edit</button> : null}
        <Act kind="quiet" label="Remove" act={() => ask('DELETE', at)} />
        {open && !steers && !input.compact ? <Act kind="quiet" label="Send now" name="Send now, to the turn in progress" act={async () => (await post(at + '/steer'), steer(true))} /> : null}
        {open && steers ? <span class="aside">Read before the next question to the model</span> : null}
      </p>
    </li>
  )
}
