import type { Said } from '../notices.ts'
import type { TargetStatus } from './state.ts'

/** A target got another status. */
export interface TargetChange {
  /** Its place in the list of the token, from 0. */
  readonly index: number
  readonly label: string
  /** Without secrets. */
  readonly url: string
  readonly status: TargetStatus
  /** Why it is `waiting`, `refused` or `failed`. */
  readonly problem: Said | null
  /** Epoch milliseconds. */
  readonly atMs: number
}

/** A time in which a target took media, or an attempt that failed before. Epoch milliseconds. */
export interface TargetRun {
  readonly started?: number
  readonly ended?: number
  readonly error?: string
}

/** What became of one target, as clients of hosted services read it. */
export interface TargetRuns extends Pick<TargetChange, 'index' | 'label' | 'url'> {
  /** It takes media, by the last change. */
  readonly active: boolean
  /** The oldest first. Tries that failed in a row are one. */
  readonly events: readonly TargetRun[]
}

/**
 * The runs of each target of a feed, by its changes, the oldest first. A target that got another address is another one.
 * @param feedEndedAtMs null: the feed is on the air. When its node died, the end of its targets was not written
 */
export function targetRuns(changes: readonly TargetChange[], feedEndedAtMs: number | null): TargetRuns[] {
  const targets = Map.groupBy(changes, ({ index, url }) => `${index} ${url}`)
  return [...targets.values()].flatMap((own) => {
    const last = own.at(-1)
    if (last === undefined) return []
    const { index, label, url, status } = last
    const runs = own.reduce(withChange, [])
    const isLost = status === 'live' && feedEndedAtMs !== null
    const events = isLost ? withChange(runs, { ...last, status: 'off', atMs: feedEndedAtMs }) : runs
    return [{ index, label, url, active: status === 'live' && !isLost, events }]
  })
}

function withChange(runs: TargetRun[], { status, problem: said, atMs }: TargetChange): TargetRun[] {
  const problem = said && said.message
  const last = runs.at(-1)
  if (status === 'live') return [...runs, { started: atMs }]
  const error = problem === null ? {} : { error: problem }
  if (last?.started !== undefined && last.ended === undefined)
    return [...runs.slice(0, -1), { ...last, ended: atMs, ...error }]
  if (status === 'connecting' || problem === null || last?.error === problem) return runs
  return [...runs, { ended: atMs, error: problem }]
}
