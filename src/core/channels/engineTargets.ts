import { RESTREAM_LIMITS, readTargetUrl, refuseTargetHost, type TargetPolicy } from '../restream/targets.ts'
import { canonicalTargets } from '../tokens/restream.ts'
import type { BodyReader } from '../validation/bodyReader.ts'
import type { EngineTargetBody } from './engineSchema.ts'
import type { EngineTarget } from './types.ts'

/** A target in a body. `key` is that of the target, or what a record shows of it. */
export interface NewEngineTarget extends Omit<EngineTarget, 'shownKey'> {
  readonly key: string
}

type Body = BodyReader<{ restream?: EngineTargetBody[] | null }>

/** The targets of a body; undefined when it does not name them, and none when it clears them. */
export function readEngineTargets(body: Body, policy: TargetPolicy): NewEngineTarget[] | undefined {
  if (body.clears('restream')) return []
  if (!body.names('restream')) return undefined
  const { problems } = body
  const items = body.items('restream').map(({ at, item }) => ({ at, item: withKeyOfUrl(item) }))
  const targets = canonicalTargets(items, problems)
  const ids = idsOf(items.map(({ item }) => item.id))
  return targets.map(({ transcode: _engines, ...target }, index) => {
    const at = items[index]?.at ?? ''
    const id = ids[index] ?? ''
    if (ids.indexOf(id) !== index) problems.add(`${at}.id`, 'is listed twice')
    const url = readTargetUrl(target.url)
    const refusal = url.ok ? refuseTargetHost(url.value, policy) : null
    if (refusal !== null) problems.add(`${at}.url`, refusal)
    return { id, ...target }
  })
}

/** Clients of hosted services send the key of RTMP as the end of the address. */
function withKeyOfUrl(item: EngineTargetBody): EngineTargetBody {
  const [, url, key] = /^(rtmps?:\/\/[^/?#]+(?:\/[^/?#]+)+)\/([^/#]+)$/i.exec(item.url) ?? []
  if ((item.key ?? '') !== '' || url === undefined || key === undefined) return item
  return { ...item, url, key }
}

/** Those that a body leaves out are numbers that no other has. */
function idsOf(given: readonly (string | undefined)[]): string[] {
  const taken = new Set(given)
  const free = Array.from({ length: 2 * RESTREAM_LIMITS.targetsMax }, (_, at) => String(at + 1)).filter(
    (id) => !taken.has(id),
  )
  return given.map((id) => id ?? free.shift() ?? '')
}
