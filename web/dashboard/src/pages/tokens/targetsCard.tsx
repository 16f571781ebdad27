import { useState } from 'preact/hooks'
import { syncRestream } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { streams } from '../../live.ts'
import { Button } from '../../parts/button.tsx'
import { useSubmit } from '../../parts/form.tsx'
import { Card } from '../../parts/page.tsx'
import { toast } from '../../parts/toast.tsx'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import { TARGET_SHAPES, targetName, TargetFacts, type TargetOnAir } from '../stream/targets.tsx'
import { type RestreamTarget, type TokenRecord, updateToken } from './operations.ts'
import { SwitchedRow } from './switchedRow.tsx'
import { TargetDialog } from './targetDialog.tsx'

const text = words.tokens.targets
const TARGETS_MAX = 10

interface TargetsProps {
  readonly token: TokenRecord
  readonly onSaved: (token: TokenRecord) => void
}

/** Other servers that get what is published with a token. */
export function TargetsCard({ token, onSaved }: TargetsProps) {
  const targets = token.restream ?? []
  const [editing, setEditing] = useState<number | null>(null)
  const save = async (next: readonly RestreamTarget[]): Promise<void> =>
    onSaved(await updateToken('publish', token.id, { restream: next }))
  const put = (at: number, target: RestreamTarget) => save([...targets.slice(0, at), target, ...targets.slice(at + 1)])
  const canAdd = canChange() && targets.length < TARGETS_MAX
  return (
    <Card
      title={text.title}
      isFlush
      aside={canChange() && targets.length > 0 ? <Sync token={token} /> : undefined}
      foot={canAdd ? <Button icon="plus" onClick={() => setEditing(targets.length)} children={text.add} /> : undefined}
    >
      {targets.length === 0 && <p class="pad note">{text.none}</p>}
      <ul class="rows">
        {targets.map((target, at) => (
          <TargetRow
            key={`${target.url} ${target.key}`}
            target={target}
            onAir={onAirOf(token, target, at)}
            onSwitch={() => put(at, { ...target, enabled: !target.enabled })}
            onEdit={() => setEditing(at)}
            onRemove={() => save(targets.filter((_, index) => index !== at))}
          />
        ))}
      </ul>
      {editing !== null && (
        <TargetDialog
          target={targets[editing]}
          at={editing}
          onSave={(target) => put(editing, target)}
          onClose={() => setEditing(null)}
        />
      )}
    </Card>
  )
}

/** What becomes of a target now, in each broadcast of the token. */
const onAirOf = (token: TokenRecord, { url }: RestreamTarget, at: number): TargetOnAir[] =>
  (streams.value ?? [])
    .filter(({ tokenId }) => tokenId === token.id)
    .flatMap(({ restreams = [] }) => restreams.filter((one) => one.index === at && one.url === url))

function Sync({ token }: { readonly token: TokenRecord }) {
  const { isBusy, onSubmit } = useSubmit(async () => {
    await call(syncRestream, { path: { tokenId: String(token.id) } })
    toast(text.synced)
  })
  return (
    <Button size="small" icon="refresh" isBusy={isBusy} onClick={onSubmit} title={text.syncNote}>
      {text.sync}
    </Button>
  )
}

interface TargetRowProps {
  readonly target: RestreamTarget
  readonly onAir: readonly TargetOnAir[]
  readonly onSwitch: () => Promise<void>
  readonly onEdit: () => void
  readonly onRemove: () => Promise<void>
}

function TargetRow({ target, onAir, ...actions }: TargetRowProps) {
  const [first] = onAir
  const shape = first ? TARGET_SHAPES[first.status] : target.enabled ? 'idle' : 'off'
  return (
    <SwitchedRow name={targetName(target)} shape={shape} isOn={target.enabled} text={text} {...actions}>
      <p class="num">
        <code>{target.url}</code> {target.key !== '' && <code>{target.key}</code>}
      </p>
      {onAir.map((one) => (
        <TargetFacts key={one.sourceId ?? ''} target={one} />
      ))}
    </SwitchedRow>
  )
}
