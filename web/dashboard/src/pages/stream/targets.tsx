import type { StreamOnAir } from '../../live.ts'
import { Card } from '../../parts/page.tsx'
import { Shape, type StateKind } from '../../parts/state.tsx'
import { bitrate, Since, Time } from '../../parts/values.tsx'
import { noticeWords } from '../../words/noticeWords.ts'
import { words } from '../../words/words.ts'

const text = words.stream

/** What a stream is sent on to. */
export type TargetOnAir = NonNullable<StreamOnAir['restreams']>[number]

/** A pull has one more. */
type Status = TargetOnAir['status'] | 'idle'

export const TARGET_SHAPES = {
  off: 'off',
  connecting: 'busy',
  live: 'live',
  waiting: 'warn',
  refused: 'error',
  failed: 'error',
  idle: 'idle',
} as const satisfies Record<Status, StateKind>

export const targetName = ({ label, url }: { readonly label: string; readonly url: string }): string =>
  label || new URL(url).host

type StateOnAir = Pick<TargetOnAir, 'since' | 'retryOn' | 'problemSentences'> & {
  readonly status: Status
  readonly problem?: string | null
}

const secondsUntil = (at: string): number => Math.max(0, Math.ceil((Date.parse(at) - Date.now()) / 1000))

/** The state of a target or of a pull, why, since when, and when it is dialled again. */
export const TargetState = ({
  target: { status, problem, problemSentences, since, retryOn },
}: {
  readonly target: StateOnAir
}) => (
  <>
    {[text.targetStatus[status], noticeWords(problem ?? '', problemSentences)].filter(Boolean).join(': ')} ·{' '}
    <Time at={since} />
    {retryOn !== undefined && ` · ${text.nextTry(secondsUntil(retryOn))}`}
  </>
)

/** The same of a target, with what it is sent, for how long, and what was wrong with it before. */
export const TargetFacts = ({ target }: { readonly target: TargetOnAir }) => (
  <>
    <p class="num">{target.status === 'live' ? <Taking target={target} /> : <TargetState target={target} />}</p>
    <LastProblem of={target} />
  </>
)

type Troubled = Pick<TargetOnAir, 'problem' | 'lastProblem' | 'lastProblemSentences' | 'lastProblemOn' | 'since'>

/** What was wrong before, where nothing is now. */
export const LastProblem = ({
  of: { problem, lastProblem, lastProblemSentences, lastProblemOn, since },
}: {
  readonly of: Troubled
}) =>
  problem === undefined && lastProblem !== undefined ? (
    <p class="note">
      {text.lastProblem(noticeWords(lastProblem, lastProblemSentences))} · <Time at={lastProblemOn ?? since} />
    </p>
  ) : null

const Taking = ({ target: { since, bitrateOut } }: { readonly target: TargetOnAir }) => (
  <>
    {text.targetStatus.live} · <Since since={since} />
    {bitrateOut !== undefined && ` · ${bitrate(bitrateOut)}`}
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
            <TargetFacts target={target} />
          </div>
        </li>
      ))}
    </ul>
  </Card>
)
