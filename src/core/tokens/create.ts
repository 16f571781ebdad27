import type { Static } from 'typebox'
import type { Result } from '../../base/result.ts'
import { checkCluster, readCascade } from '../clusters.ts'
import { checkLabel, checkPlainText } from '../validation/text.ts'
import { canonicalList, canonicalStreams, checkCountries } from './canonical.ts'
import { createHints } from './hints.ts'
import { COMMON_FLAGS, mapFlags, PUBLISH_FLAGS } from './flags.ts'
import { canonicalRenditions } from './renditions.ts'
import { canonicalRestream, splitTargets } from './restream.ts'
import { Problems } from '../validation/problems.ts'
import type { FieldErrors } from '../errors.ts'
import { CreatePublishToken, CreateSubscribeToken } from './schema.ts'
import { readShape, type BodyReader } from '../validation/bodyReader.ts'
import type { TargetKeys, TokenRules, TokenKind } from './types.ts'

const SCHEMAS = { publish: CreatePublishToken, subscribe: CreateSubscribeToken } as const

/** The fields of both kinds. The schema refuses fields of the other kind, which then read as undefined. */
type CreateBody = Static<typeof CreatePublishToken> & Static<typeof CreateSubscribeToken>

/** A token to be created. `expiresSeconds` counts from its creation; null: it never expires. */
export interface NewToken {
  rules: TokenRules
  restreamKeys: TargetKeys
  expiresSeconds: number | null
}

/** Parses the body of a create. All errors are reported at once. @param regions those that a body may name */
export function readTokenCreate(
  kind: TokenKind,
  body: unknown,
  regions: readonly string[] = [],
): Result<NewToken, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(SCHEMAS[kind], body, problems, createHints[kind]) as unknown as BodyReader<CreateBody>
  const { restream, keys } = splitTargets(canonicalRestream(reader, 'restream') ?? [], [], problems)
  const geoCascade = kind === 'publish' ? readCascade(reader.part('geoCascade'), regions) : null
  const rules = { ...readRules(kind, reader), geoCascade, restream }
  if (kind === 'publish') checkCluster(reader, 'originCluster', regions)
  return problems.settle({ rules, restreamKeys: keys, expiresSeconds: reader.value('expires') ?? null })
}

type PlainRules = Omit<TokenRules, 'restream' | 'geoCascade'>

function readRules(kind: TokenKind, body: BodyReader<CreateBody>): PlainRules {
  const trackingId = body.value('tracking')?.trackingId ?? null
  const rules: PlainRules = {
    label: body.value('label') ?? '',
    streams: canonicalStreams(body, 'streams'),
    isActive: true,
    allowedOrigins: canonicalList(body, 'allowedOrigins') ?? [],
    allowedIpAddresses: canonicalList(body, 'allowedIpAddresses') ?? [],
    bindIpsOnUsage: body.value('bindIpsOnUsage') ?? 0,
    allowedCountries: canonicalList(body, 'allowedCountries') ?? [],
    deniedCountries: canonicalList(body, 'deniedCountries') ?? [],
    ...mapFlags(COMMON_FLAGS, (name, { byDefault }) => body.value(name) ?? byDefault),
    ...mapFlags(PUBLISH_FLAGS, (name, { byDefault }) => body.value(name) ?? (byDefault && kind === 'publish')),
    originCluster: kind === 'publish' ? (body.value('originCluster') ?? '') : '',
    priority: body.value('priority') ?? null,
    hlsRenditions: canonicalRenditions(body) ?? [],
    hlsCodecs: body.value('hlsCodecs') ?? 'h264',
    trackingId,
    maxViewers: body.value('maxViewers') ?? 0,
    recordingDays: body.value('recordingDays') ?? null,
  }
  checkLabel('label', body.value('label'), body.problems)
  checkPlainText('tracking.trackingId', trackingId ?? undefined, body.problems)
  checkCountries(rules, body.problems)
  return rules
}
