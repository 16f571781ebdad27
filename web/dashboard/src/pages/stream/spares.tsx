import { useState } from 'preact/hooks'
import { type Answer, listSessions, reprioritizeStream } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import type { StreamOnAir } from '../../live.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog, SubmitFoot } from '../../parts/dialog.tsx'
import { TextField, useSubmit } from '../../parts/form.tsx'
import { LoadError, Notice } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { Shape } from '../../parts/state.tsx'
import { toast } from '../../parts/toast.tsx'
import { linkTo } from '../../router.ts'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import { checkPriority } from '../tokens/checks.ts'

const text = words.stream.spares

type Session = Answer<typeof listSessions>[number]

/** Which publishers of a stream are shown, and which ones wait to take over. */
export function Spares({ stream }: { readonly stream: StreamOnAir }) {
  const { streamName, feedId, spares, priority } = stream
  const query = { streamName, action: 'publish', limit: 100 } as const
  const list = useLoad((signal) => call(listSessions, { query }, { signal }), [feedId, spares, priority])
  const [chosen, setChosen] = useState<Session | null>(null)
  const rows = (list.data ?? []).filter(({ shown }) => shown !== undefined).toSorted(byRank)
  return (
    <Card title={text.title} isFlush>
      {list.error && <LoadError error={list.error} onRetry={list.reload} />}
      <ul class="rows">
        {rows.map((one) => (
          <li key={one.id}>
            <Shape kind={one.shown ? 'live' : 'idle'} isSmall />
            <div class="grow">
              <b>{one.shown ? text.shown : text.waits}</b>
              <p class="num">
                {one.sourceId !== undefined && `${words.stream.player.source(one.sourceId)} · `}
                {one.layer !== undefined && `${text.layer(one.layer)} · `}
                {text.priority(one.priority)} · {one.protocol.toUpperCase()} · <code>{one.address}</code>
              </p>
            </div>
            {canChange() && one.tokenId !== undefined && (
              <Button size="small" aria-label={`${text.change}: ${one.address}`} onClick={() => setChosen(one)}>
                {text.change}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {chosen && <PriorityDialog publisher={chosen} onClose={() => setChosen(null)} />}
    </Card>
  )
}

/** By source, those on the air first, then by rank. */
const byRank = (a: Session, b: Session): number =>
  (a.sourceId ?? '').localeCompare(b.sourceId ?? '') ||
  Number(b.shown) - Number(a.shown) ||
  (b.priority ?? Number.NEGATIVE_INFINITY) - (a.priority ?? Number.NEGATIVE_INFINITY)

function PriorityDialog({ publisher, onClose }: { readonly publisher: Session; readonly onClose: () => void }) {
  const { tokenId, streamName, priority } = publisher
  const [value, setValue] = useState(String(priority ?? ''))
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    const updatePriority = value.trim() === '' ? null : Number(value)
    await call(reprioritizeStream, { body: { tokenId: Number(tokenId), updatePriority } })
    toast(text.changed(streamName))
    onClose()
  })
  return (
    <Dialog
      title={text.changeTitle}
      onClose={onClose}
      onSubmit={onSubmit}
      foot={<SubmitFoot verb={text.change} isBusy={isBusy} onClose={onClose} />}
    >
      {error && !fields['updatePriority'] && <Notice kind="error">{error.message}</Notice>}
      <p>
        {text.changeText} <a href={linkTo(`/tokens/publish/${tokenId}`)}>{text.toToken}</a>
      </p>
      <TextField
        label={words.tokens.form.priority}
        hint={text.hint}
        problem={checkPriority(value)}
        error={fields['updatePriority']}
        value={value}
        onValue={setValue}
      />
    </Dialog>
  )
}
