import type { StreamOnAir } from '../../live.ts'
import { Card } from '../../parts/page.tsx'
import { Shape, type StateKind } from '../../parts/state.tsx'
import { Time } from '../../parts/values.tsx'
import { words } from '../../words/words.ts'

const text = words.stream

/** What a stream is sent on to. */
export type TargetOnAir = NonNullable<StreamOnAir['restreams']>[number]

export const TARGET_SHAPES = {
  off: 'off',
  connecting: 'busy',
  live: 'live',
  waiting: 'warn',
  refused: 'error',
  failed: 'error',
} as const satisfies Record<TargetOnAir['status'], StateKind>

export const targetName = ({ label, url }: { readonly label: string; readonly url: string }): string =>
  label || new URL(url).host

type StateOnAir = Pick<TargetOnAir, 'status' | 'since'> & { readonly problem?: string | null }

/** The state of a target or of a pull, why, and since when. */
export const TargetState = ({ target: { status, problem, since } }: { readonly target: StateOnAir }) => (
  <>
    {[text.targetStatus[status], problem].filter(Boolean).join(': ')} · <Time at={since} />
  </>
)

/** Where a stream is sent on to. */
export const Targets = ({ targets }: { readonly targets: readonly TargetOnAir[] }) => (
  <Card title={text.targets} isFlush>
    <ul class="rows">
      {targets.map((target) => (
        <li key={`${target.sourceId ?? ''} ${target.index}`}>
          <Shape kind={TARGET_SHAPES[target.status]} isSmall />
          <div class="grow">
            <b>{targetName(target)}</b>
            <p class="num">
              <TargetState target={target} />
            </p>
          </div>
        </li>
      ))}
    </ul>
  </Card>
)
