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
  return (
    <TargetList
      title={text.title}
      none={text.none}
      targets={token.restream ?? []}
      nowOf={(target, at) => onAirOf(token, target, at)}
      onSave={async (restream) => onSaved(await updateToken('publish', token.id, { restream }))}
      onSync={() => call(syncRestream, { path: { tokenId: String(token.id) } })}
      canTranscode
    />
  )
}

interface TargetListProps {
  readonly title: string
  /** Whose they are, where a page has several lists. */
  readonly of?: string
  /** What is said if there are none. */
  readonly none: string
  readonly targets: readonly RestreamTarget[]
  /** What becomes of a target now, wherever it is sent to. */
  readonly nowOf: (target: RestreamTarget, at: number) => readonly TargetOnAir[]
  readonly onSave: (targets: readonly RestreamTarget[]) => Promise<void>
  readonly onSync: () => Promise<unknown>
  readonly canTranscode: boolean
}

/** Targets, each with its state, and what changes them. */
export function TargetList({ title, of, none, targets, nowOf, onSave: save, onSync, canTranscode }: TargetListProps) {
  const [editing, setEditing] = useState<number | null>(null)
  const put = (at: number, target: RestreamTarget) => save([...targets.slice(0, at), target, ...targets.slice(at + 1)])
  const canAdd = canChange() && targets.length < TARGETS_MAX
  return (
    <Card
      title={title}
      isFlush
      aside={canChange() && targets.length > 0 ? <Sync of={of} onSync={onSync} /> : undefined}
      foot={
        canAdd ? (
          <Button icon="plus" onClick={() => setEditing(targets.length)} of={of} children={text.add} />
        ) : undefined
      }
    >
      {targets.length === 0 && <p class="pad note">{none}</p>}
      <ul class="rows">
        {targets.map((target, at) => (
          <TargetRow
            key={`${target.url} ${target.key}`}
            target={target}
            onAir={nowOf(target, at)}
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
          canTranscode={canTranscode}
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

function Sync({ of, onSync }: Pick<TargetListProps, 'of' | 'onSync'>) {
  const { isBusy, onSubmit } = useSubmit(async () => {
    await onSync()
    toast(text.synced)
  })
  return (
    <Button size="small" icon="refresh" of={of} isBusy={isBusy} onClick={onSubmit} title={text.syncNote}>
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
