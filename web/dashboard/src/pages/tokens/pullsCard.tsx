import { useState } from 'preact/hooks'
import { createPull, deletePull, listPulls, updatePull } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useFollow } from '../../follow.ts'
import { sessionNews } from '../../live.ts'
import { Button } from '../../parts/button.tsx'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { linkTo } from '../../router.ts'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import { LastProblem, TARGET_SHAPES, TargetState } from '../stream/targets.tsx'
import type { TokenRecord } from './operations.ts'
import { type Pull, type PullBody, PullDialog } from './pullDialog.tsx'
import { SwitchedRow } from './switchedRow.tsx'

const text = words.tokens.pulls

/** States have no events of their own. */
export const STATES = { slowMs: 5000 }

/** Sources that Sluice dials in the name of a token. */
export function PullsCard({ token }: { readonly token: TokenRecord }) {
  const list = useLoad((signal) => call(listPulls, {}, { signal }), [token.id])
  useFollow(sessionNews, list.reload, STATES)
  const [editing, setEditing] = useState<Pull | 'new' | null>(null)
  const pulls = (list.data ?? []).filter(({ tokenId }) => tokenId === token.id)
  const byId = ({ id }: Pull) => ({ path: { pullId: String(id) } })
  const save = async (body: PullBody): Promise<void> => {
    if (editing === null) return
    if (editing === 'new') await call(createPull, { body: { url: '', ...body, tokenId: token.id } })
    else await call(updatePull, { ...byId(editing), body })
    list.reload()
  }
  return (
    <Card
      title={text.title}
      isFlush
      foot={canChange() ? <Button icon="plus" onClick={() => setEditing('new')} children={text.add} /> : undefined}
    >
      {list.error && <LoadError error={list.error} onRetry={list.reload} />}
      {!list.data && !list.error && <Bones rows={1} />}
      {list.data && pulls.length === 0 && <p class="pad note">{text.none}</p>}
      <ul class="rows">
        {pulls.map((pull) => (
          <PullRow
            key={pull.id}
            pull={pull}
            onSwitch={() => call(updatePull, { ...byId(pull), body: { enabled: !pull.enabled } }).then(list.reloaded)}
            onEdit={() => setEditing(pull)}
            onRemove={() => call(deletePull, byId(pull)).then(list.reload)}
          />
        ))}
      </ul>
      {editing !== null && (
        <PullDialog
          pull={editing === 'new' ? undefined : editing}
          streamName={token.streams.find(({ isRegex }) => !isRegex)?.streamName ?? ''}
          onSave={save}
          onClose={() => setEditing(null)}
        />
      )}
    </Card>
  )
}

interface PullRowProps {
  readonly pull: Pull
  readonly onSwitch: () => Promise<void>
  readonly onEdit: () => void
  readonly onRemove: () => Promise<void>
}

const PullRow = ({ pull, ...actions }: PullRowProps) => (
  <SwitchedRow
    name={pull.label || pull.streamName}
    href={linkTo(`/tokens/publish/${pull.tokenId}/sources/${pull.id}`)}
    shape={TARGET_SHAPES[pull.status]}
    isOn={pull.enabled}
    text={text}
    {...actions}
  >
    <p class="num">
      <code>{pull.streamName}</code> <code>{pull.url}</code>
      {pull.when === 'onDemand' && ` · ${text.isOnDemand}`}
    </p>
    <PullState pull={pull} />
  </SwitchedRow>
)

/** How a source is, and what was wrong with it before. */
export const PullState = ({ pull }: { readonly pull: Pull }) => (
  <>
    <p class="num">
      <TargetState target={{ ...pull, ...(pull.retryAt !== undefined && { retryOn: pull.retryAt }) }} />
    </p>
    <LastProblem of={pull} />
  </>
)
