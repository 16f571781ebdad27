import type { Static } from 'typebox'
import { isObject } from '../../base/objects.ts'
import { err, type Result } from '../../base/result.ts'
import { checkCluster, readCascade } from '../clusters.ts'
import { checkLabel } from '../validation/text.ts'
import { canonicalList, canonicalStreams, checkCountries, namesToRemove } from './canonical.ts'
import { updateHints } from './hints.ts'
import { flagNames, TOKEN_FLAGS } from './flags.ts'
import { canonicalRenditions } from './renditions.ts'
import { canonicalRestream } from './restream.ts'
import { Problems } from '../validation/problems.ts'
import type { FieldErrors } from '../errors.ts'
import { TWO_SPELLINGS, UpdatePublishToken, UpdateSubscribeToken } from './schema.ts'
import { readShape, type BodyReader } from '../validation/bodyReader.ts'
import type { TokenPatch, TokenKind } from './types.ts'

const SCHEMAS = { publish: UpdatePublishToken, subscribe: UpdateSubscribeToken } as const

type UpdateBody = Static<typeof UpdatePublishToken> & Static<typeof UpdateSubscribeToken>
type Changes = TokenPatch['set']

const FLAGS = ['isActive', ...flagNames(TOKEN_FLAGS)] as const
const LISTS = ['allowedOrigins', 'allowedIpAddresses', 'allowedCountries', 'deniedCountries'] as const

/**
 * Parses the body of an update, from either version of the path. Both spellings of a field are accepted, also
 * together when they agree. Null changes nothing, except that it clears `maxViewers`, `priority`,
 * `recordingDays` and `enableUTCInsertion`.
 * @param regions those that a body may name
 */
export function readTokenUpdate(
  kind: TokenKind,
  body: unknown,
  regions: readonly string[] = [],
): Result<TokenPatch, FieldErrors> {
  if (isObject(body) && saysNothing(kind, body)) return err({ token: ['No properties specified to update.'] })
  const problems = new Problems()
  const reader = readShape(SCHEMAS[kind], body, problems, updateHints[kind]) as unknown as BodyReader<UpdateBody>
  const clusters = kind === 'publish' ? readClusters(reader, regions) : {}
  return problems.settle({
    set: { ...readSet(reader, clearedBy(kind, body)), ...clusters },
    restream: agreed(reader, 'restream', (spelling) => canonicalRestream(reader, spelling)),
    addStreams: canonicalStreams(reader, 'addTokenStreams'),
    removeStreams: namesToRemove(reader),
    refreshToken: reader.value('refreshToken') ?? false,
  })
}

/** True for `{}` and for a body that holds nothing but nulls. An unknown property is content, which is then refused. */
function saysNothing(kind: TokenKind, body: Record<string, unknown>): boolean {
  const known = SCHEMAS[kind].properties
  const hasNullsAlone = Object.keys(body).every((name) => Object.hasOwn(known, name) && body[name] === null)
  return hasNullsAlone && Object.keys(clearedBy(kind, body)).length === 0
}

/** What null sets. */
const CLEARED = {
  publish: { maxViewers: 0, priority: null, recordingDays: null, enableUTCInsertion: false },
  subscribe: { maxViewers: 0 },
} as const

/** The fields that the body sets by null. */
const clearedBy = (kind: TokenKind, body: unknown): Changes =>
  isObject(body)
    ? Object.fromEntries(
        Object.entries(CLEARED[kind]).filter(([name]) => Object.hasOwn(body, name) && body[name] === null),
      )
    : {}

function readSet(body: BodyReader<UpdateBody>, cleared: Changes): Changes {
  const [label, priority] = [body.value('label'), body.value('priority')]
  const bind = agreed(body, 'bindIpsOnUsage', (name) => body.value(name))
  const renditions = canonicalRenditions(body)
  const hlsCodecs = body.value('hlsCodecs')
  const [maxViewers, recordingDays] = [body.value('maxViewers'), body.value('recordingDays')]
  const set: Changes = {
    ...(label === undefined ? {} : { label }),
    ...cleared,
    ...(priority === undefined ? {} : { priority }),
    ...(bind === undefined ? {} : { bindIpsOnUsage: bind }),
    ...(renditions === undefined ? {} : { hlsRenditions: renditions }),
    ...(hlsCodecs === undefined ? {} : { hlsCodecs }),
    ...(maxViewers === undefined ? {} : { maxViewers }),
    ...(recordingDays === undefined ? {} : { recordingDays }),
  }
  for (const name of FLAGS) {
    const flag = body.value(name)
    if (flag !== undefined) set[name] = flag
  }
  for (const name of LISTS) {
    const list = agreed(body, name, (spelling) => canonicalList(body, spelling))
    if (list !== undefined) set[name] = list
  }
  checkLabel('label', label, body.problems)
  checkCountries(set, body.problems)
  return set
}

function readClusters(
  body: BodyReader<UpdateBody>,
  regions: readonly string[],
): Pick<Changes, 'originCluster' | 'geoCascade'> {
  checkCluster(body, 'originCluster', regions)
  checkCluster(body, 'updateOriginCluster', regions)
  const originCluster = agreed(body, 'originCluster', (name) => body.value(name))
  const geoCascade = agreed(body, 'geoCascade', (name) =>
    body.names(name) ? readCascade(body.part(name), regions) : undefined,
  )
  return {
    ...(originCluster === undefined ? {} : { originCluster }),
    ...(geoCascade === undefined ? {} : { geoCascade }),
  }
}

/** The value of a field that has two spellings. If both are sent, they must mean the same. */
export function agreed<N extends keyof typeof TWO_SPELLINGS, V>(
  body: Pick<BodyReader<object>, 'problems'>,
  name: N,
  read: (spelling: N | (typeof TWO_SPELLINGS)[N]) => V | undefined,
): V | undefined {
  const other = TWO_SPELLINGS[name]
  const [value, otherValue] = [read(name), read(other)]
  const differ = value !== undefined && otherValue !== undefined && JSON.stringify(value) !== JSON.stringify(otherValue)
  if (differ && !body.problems.touches(name) && !body.problems.touches(other)) {
    body.problems.add(name, `${name} and ${other} are the same field but have different values; send one of them`)
  }
  return value === undefined ? otherValue : value
}
