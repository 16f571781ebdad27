import type { Result } from '../../base/result.ts'
import { isoTime } from '../../base/time.ts'
import { checkStreamName } from '../access/streamName.ts'
import { saidAs } from '../notices.ts'
import type { TargetPolicy } from '../restream/targets.ts'
import { type BodyReader, readShape } from '../validation/bodyReader.ts'
import { Problems } from '../validation/problems.ts'
import type { FieldErrors } from '../errors.ts'
import { checkPlainText } from '../validation/text.ts'
import { CreatePull, type PullRecord, UpdatePull } from './schema.ts'
import { isWanted } from './demand.ts'
import { hostOfPull, isShownPullUrl, readPullUrl, shownPullUrl } from './source.ts'
import type { Pull, PullSettings } from './types.ts'

/** A source with its secrets, and as records show it. */
export interface PullSource {
  readonly url: string
  readonly shownUrl: string
}

export interface PullChange {
  readonly settings: PullSettings
  /** Null: it stays. */
  readonly source: PullSource | null
}

type Body = BodyReader<UpdatePull>

/** Parses the body of a create. The errors name every invalid field. */
export function readPullCreate(body: unknown, policy: TargetPolicy): Result<PullChange, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(CreatePull, body, problems) as unknown as Body
  return problems.settle({ settings: settingsOf(reader, NEW), source: readSource(reader, policy, null) })
}

/** Parses the body of an update of `before`. */
export function readPullUpdate(body: unknown, policy: TargetPolicy, before: Pull): Result<PullChange, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(UpdatePull, body, problems)
  return problems.settle({ settings: settingsOf(reader, before), source: readSource(reader, policy, before) })
}

const NEW: PullSettings = { tokenId: 0, streamName: '', label: '', enabled: true, when: 'always' }

function settingsOf(body: Body, before: PullSettings): PullSettings {
  const { problems } = body
  const [streamName, label, when] = [body.value('streamName'), body.value('label'), body.value('when')]
  const refusal = streamName === undefined ? null : checkStreamName(streamName)
  if (refusal !== null) problems.add('streamName', refusal)
  checkPlainText('label', label, problems)
  return {
    tokenId: body.value('tokenId') ?? before.tokenId,
    streamName: streamName ?? before.streamName,
    label: label ?? before.label,
    enabled: body.value('enabled') ?? before.enabled,
    when: when ?? before.when,
  }
}

function readSource(body: Body, policy: TargetPolicy, before: Pull | null): PullSource | null {
  const url = body.value('url')
  if (url === undefined || url === before?.shownUrl) return null
  const read = readPullUrl(url, policy)
  if (!read.ok || isShownPullUrl(url)) {
    body.problems.add('url', read.ok ? 'is not the one that the record shows: send the whole of it' : read.error)
    return null
  }
  return { url, shownUrl: shownPullUrl(read.value) }
}

/** Who sees a pull, and when. */
interface PullView {
  readonly nowMs: number
  /** Whether its node is there. */
  readonly isRunning: boolean
  readonly seesSecrets: boolean
}

/** A pull as responses show it. */
export function toPullRecord(pull: Pull, view: PullView): PullRecord {
  const { id, tokenId, streamName, label, enabled, when, shownUrl, addedAtMs, state, lastProblem } = pull
  const { seesSecrets } = view
  const status = statusOf(pull, view)
  const retryAtMs = status === state.status ? state.retryAtMs : null
  // What was wrong when it was last dialled is told until it is dialled again.
  const problem = status === 'idle' || (status === state.status && status !== 'off') ? state.problem : null
  return {
    id,
    tokenId,
    streamName,
    url: seesSecrets ? shownUrl : hostOfPull(shownUrl),
    label,
    enabled,
    when,
    addedOn: isoTime(addedAtMs),
    status,
    since: isoTime(state.sinceMs),
    ...(retryAtMs === null ? {} : { retryAt: isoTime(retryAtMs) }),
    ...saidAs('problem', problem),
    ...saidAs('lastProblem', lastProblem),
    ...(lastProblem === null ? {} : { lastProblemOn: isoTime(lastProblem.atMs) }),
  }
}

/** What a node wrote that is gone is over, and the next node begins soon. */
function statusOf(pull: Pull, { nowMs, isRunning }: PullView): PullRecord['status'] {
  const { enabled, state } = pull
  if (!enabled) return 'off'
  if (isRunning && state.status !== 'off') return state.status
  return isWanted(pull, nowMs) ? 'connecting' : 'idle'
}
