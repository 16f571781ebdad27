import type { Credential, TraceStep } from './types.ts'

/** A limit of concurrent viewers over all nodes. A viewer takes a seat of its holder. */
export interface ViewerLimit {
  /** Text that is equal for viewers who count together, and for no others. */
  readonly holder: string
  readonly of: 'token' | 'stream' | 'trackingId'
  /** At least 1. */
  readonly most: number
}

/** The limits of what a viewer presented: of its token, and of its tracking id if it is self-signed. */
export function tokenLimits(credential: Credential): readonly ViewerLimit[] {
  if (credential.kind !== 'token' && credential.kind !== 'selfSigned') return NONE
  const { id, maxViewers } = credential.token
  const ofToken: readonly ViewerLimit[] =
    maxViewers === 0 ? NONE : [{ holder: `token/${id}`, of: 'token', most: maxViewers }]
  const claims = credential.kind === 'selfSigned' ? credential.claims : null
  if (claims === null || claims.maxViewers === 0) return ofToken
  const holder = `tracking/${id}/${claims.trackingId ?? ''}`
  return [...ofToken, { holder, of: 'trackingId', most: claims.maxViewers }]
}

const NONE: readonly ViewerLimit[] = []

/** The limit of a stream, by the limits of the publish tokens that are on the air there: the smallest one. Null: none. */
export function streamLimit(accountId: string, streamName: string, limits: readonly number[]): ViewerLimit | null {
  const most = Math.min(...limits.filter((limit) => limit > 0))
  return most === Number.POSITIVE_INFINITY ? null : { holder: `stream/${accountId}/${streamName}`, of: 'stream', most }
}

const TITLES: Readonly<Record<ViewerLimit['of'], string>> = {
  token: 'with the token',
  stream: 'of the stream',
  trackingId: 'with the tracking id',
}

/** The line of a trace, with how many viewers each limit has now. */
export function viewersStep(counts: readonly { readonly limit: ViewerLimit; readonly viewers: number }[]): TraceStep {
  const reached = counts.filter(({ limit, viewers }) => viewers >= limit.most)
  const named = (reached.length > 0 ? reached : counts).map(
    ({ limit, viewers }) => `${viewers} of ${limit.most} viewers ${TITLES[limit.of]}`,
  )
  return {
    check: 'viewers',
    outcome: reached.length > 0 ? 'fail' : 'pass',
    detail: `now there are ${named.join(', ')}`,
  }
}
