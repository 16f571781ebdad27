import { isoTime } from '../../base/time.ts'
import type { Result } from '../../base/result.ts'
import type { FieldErrors } from '../errors.ts'
import { checkPlainText } from '../validation/text.ts'
import { Problems } from '../validation/problems.ts'
import { readShape, type BodyReader } from '../validation/bodyReader.ts'
import {
  type ChannelRecord,
  CreateChannel,
  type SlateRecord,
  TIMEOUT_EDIT_MIN,
  UpdateChannel,
} from './channelSchema.ts'
import { type NewDistribution, readDistributionBody } from './distribution.ts'
import { type NewEngine, readEngineBody } from './engine.ts'
import { type NewIngest, readIngestBody } from './ingest.ts'
import { readName } from './name.ts'
import type { SlateFacts } from './slate.ts'
import type { Channel, ChannelRules, ChannelSettings } from './types.ts'

const TIMEOUT_DEFAULT = 3600

/** A channel to be created, with its parts. */
export interface NewChannel {
  rules: ChannelRules
  ingests: (NewIngest & { engines: NewEngine[] })[]
  distributions: NewDistribution[]
}

/** Parses the body of a create. Reports all errors at once. */
export function readCreateChannel(body: unknown, settings: ChannelSettings): Result<NewChannel, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(CreateChannel, body, problems)
  return problems.settle({
    rules: {
      name: readName(reader) ?? '',
      externalIds: readExternalIds(reader) ?? [],
      timeoutSeconds: reader.value('timeout') ?? TIMEOUT_DEFAULT,
    },
    ingests: reader.parts('ingests').map((ingest) => ({
      ...readIngestBody(ingest, settings),
      engines: ingest.parts('engines').map((engine) => readEngineBody(engine, settings)),
    })),
    distributions: reader.parts('distributions').map((part) => readDistributionBody(part, settings)),
  })
}

/** Parses the body of an update: only the fields that it contains. */
export function readUpdateChannel(body: unknown): Result<Partial<ChannelRules>, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(UpdateChannel, body, problems)
  const name = readName(reader)
  const externalIds = readExternalIds(reader)
  const timeoutSeconds = reader.value('timeout')
  if (timeoutSeconds !== undefined && timeoutSeconds > 0 && timeoutSeconds < TIMEOUT_EDIT_MIN) {
    problems.add('timeout', `must be 0 (never) or at least ${TIMEOUT_EDIT_MIN} seconds`)
  }
  return problems.settle({
    ...(name === undefined ? {} : { name }),
    ...(externalIds === undefined ? {} : { externalIds }),
    ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
  })
}

export function toChannelRecord(channel: Channel): ChannelRecord {
  const [first] = channel.externalIds
  return {
    id: channel.id,
    name: channel.name,
    createdAt: isoTime(channel.createdAtMs),
    status: channel.status,
    ...(first === undefined ? {} : { externalIds: [...channel.externalIds], externalId: first }),
    timeout: channel.timeoutSeconds,
    perpetual: channel.timeoutSeconds === 0,
    organizationId: channel.accountId,
    ...(channel.slate === null ? {} : { slate: toSlateRecord(channel.slate) }),
  }
}

export function toSlateRecord({ bytes: size, durationMs, createdAtMs, ...facts }: SlateFacts): SlateRecord {
  const { id, mediaType, width, height, hasAudio } = facts
  const duration = durationMs === null ? {} : { duration: durationMs / 1000, hasAudio }
  return { id, mediaType, size, width, height, ...duration, createdAt: isoTime(createdAtMs) }
}

type ExternalIds = BodyReader<Pick<UpdateChannel, 'externalIds' | 'externalId'>>

/** Both spellings are one field. */
function readExternalIds(body: ExternalIds): string[] | undefined {
  if (body.names('externalId') && body.names('externalIds')) {
    body.problems.add('externalId', 'must not be sent together with externalIds')
  }
  const single = body.value('externalId')
  const ids = body.value('externalIds') ?? (single === undefined ? undefined : [single])
  if (ids === undefined) return body.clears('externalId') ? [] : undefined
  for (const [index, id] of ids.entries()) {
    checkPlainText(single === undefined ? `externalIds[${index}]` : 'externalId', id, body.problems)
  }
  return [...new Set(ids)]
}
