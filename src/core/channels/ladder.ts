import type { Result } from '../../base/result.ts'
import type { FieldErrors } from '../errors.ts'
import { checkLabel } from '../validation/canonical.ts'
import { Problems } from '../validation/problems.ts'
import { readShape, type BodyReader } from '../validation/bodyReader.ts'
import { readName } from './name.ts'
import { CreateLadder, type LadderRecord, UpdateLadder } from './ladderSchema.ts'
import type { AbrLadder, Rendition } from './types.ts'

/** A ladder to be created. */
export type NewLadder = Pick<AbrLadder, 'name' | 'video' | 'audioKbps'>

const AUDIO_DEFAULT_KBPS = 128
const FRAME_RATE_MAX = 120

export const DEFAULT_LADDER_ID = 'ab_default'

/** The ladder that every account has. It is part of the program and cannot be changed. Two renditions fit one core. */
export const defaultLadder = (accountId: string): AbrLadder => ({
  id: DEFAULT_LADDER_ID,
  accountId,
  name: 'Default',
  video: [
    { id: '720p', label: '720p', width: 1280, height: 720, bitrate: 2_500_000, frameRate: null },
    { id: '360p', label: '360p', width: 640, height: 360, bitrate: 700_000, frameRate: null },
  ],
  audioKbps: AUDIO_DEFAULT_KBPS,
  createdAtMs: 0,
  updatedAtMs: 0,
})

export function readCreateLadder(body: unknown): Result<NewLadder, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(CreateLadder, body, problems)
  return problems.settle({
    name: readName(reader) ?? '',
    video: readVideo(reader) ?? [],
    audioKbps: readAudio(reader, AUDIO_DEFAULT_KBPS),
  })
}

export function readUpdateLadder(body: unknown, before: NewLadder): Result<NewLadder, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(UpdateLadder, body, problems)
  return problems.settle({
    name: readName(reader) ?? before.name,
    video: readVideo(reader) ?? before.video,
    audioKbps: readAudio(reader, before.audioKbps),
  })
}

type Body = BodyReader<UpdateLadder>
type RenditionBody = BodyReader<NonNullable<UpdateLadder['video']>[number]>

function readAudio(body: Body, otherwise: number | null): number | null {
  if (body.clears('audio')) return null
  return body.names('audio') ? (body.part('audio').value('bitrate') ?? otherwise) : otherwise
}

function readVideo(body: Body): Rendition[] | undefined {
  if (!body.names('video')) return undefined
  const seen = new Set<string>()
  return body.parts('video').map((part) => {
    const rendition = readRendition(part)
    const clash = part.value('height') !== undefined && seen.has(rendition.id)
    if (clash) part.problems.add(`${part.at}id`, `there are two renditions ${rendition.id}; name them apart`)
    seen.add(rendition.id)
    return rendition
  })
}

function readRendition(body: RenditionBody): Rendition {
  const [width, height] = [body.value('width') ?? 0, body.value('height') ?? 0]
  if (width % 2 === 1) body.problems.add(`${body.at}width`, 'must be even')
  if (height % 2 === 1) body.problems.add(`${body.at}height`, 'must be even')
  const id = body.value('id') ?? `${height}p`
  if (!/^[\w-]+$/.test(id)) body.problems.add(`${body.at}id`, 'must be letters, digits, - and _')
  const label = body.value('label') ?? id
  checkLabel(`${body.at}label`, label, body.problems)
  return { id, label, width, height, bitrate: body.value('bitrate') ?? 0, frameRate: readFrameRate(body) }
}

function readFrameRate(body: RenditionBody): Rendition['frameRate'] {
  if (!body.names('frameRate')) return null
  const part = body.part('frameRate')
  const [value, scale] = [part.value('value') ?? 1, part.value('scale') ?? 1]
  if (value / scale > FRAME_RATE_MAX) part.problems.add(`${part.at}value`, `must be at most ${FRAME_RATE_MAX} a second`)
  return { value, scale }
}

export function toLadderRecord(ladder: AbrLadder): LadderRecord {
  return {
    id: ladder.id,
    name: ladder.name,
    video: ladder.video.map(({ frameRate, ...rest }) => ({
      ...rest,
      ...(frameRate === null ? {} : { frameRate }),
      codec: 'h264' as const,
    })),
    ...(ladder.audioKbps === null ? {} : { audio: { bitrate: ladder.audioKbps } }),
    createdAt: new Date(ladder.createdAtMs).toISOString(),
    updatedAt: new Date(ladder.updatedAtMs).toISOString(),
  }
}
