import { isoTime } from '../../base/time.ts'
import type { Result } from '../../base/result.ts'
import type { FieldErrors } from '../errors.ts'
import { checkLabel } from '../validation/text.ts'
import { Problems } from '../validation/problems.ts'
import { readShape, type BodyReader } from '../validation/bodyReader.ts'
import { readName } from './name.ts'
import { CreateLadder, type LadderRecord, UpdateLadder } from './ladderSchema.ts'
import type { AbrLadder, Rendition } from './types.ts'

/** A ladder to be created. */
export type NewLadder = Pick<AbrLadder, 'name' | 'video' | 'audioKbps' | 'audioOnly'>

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
  audioOnly: false,
  createdAtMs: 0,
  updatedAtMs: 0,
})

export function readCreateLadder(body: unknown): Result<NewLadder, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(CreateLadder, body, problems)
  const audioKbps = readAudio(reader, AUDIO_DEFAULT_KBPS)
  return problems.settle({
    name: readName(reader) ?? '',
    video: readVideo(reader) ?? [],
    audioKbps,
    audioOnly: readAudioOnly(reader, false, audioKbps),
  })
}

export function readUpdateLadder(body: unknown, before: NewLadder): Result<NewLadder, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(UpdateLadder, body, problems)
  const audioKbps = readAudio(reader, before.audioKbps)
  return problems.settle({
    name: readName(reader) ?? before.name,
    video: readVideo(reader) ?? before.video,
    audioKbps,
    audioOnly: readAudioOnly(reader, before.audioOnly, audioKbps),
  })
}

type Body = BodyReader<UpdateLadder>
type RenditionBody = BodyReader<NonNullable<UpdateLadder['video']>[number]>

function readAudio(body: Body, otherwise: number | null): number | null {
  return body.clears('audio') ? null : (body.part('audio').value('bitrate') ?? otherwise)
}

function readAudioOnly(body: Body, otherwise: boolean, audioKbps: number | null): boolean {
  const audioOnly = body.value('audioOnly') ?? otherwise
  if (audioOnly && audioKbps === null) body.problems.add('audioOnly', 'needs audio, which this ladder has not')
  return audioOnly
}

function readVideo(body: Body): Rendition[] | undefined {
  if (!body.names('video')) return undefined
  const seen = new Set<string>()
  const parts = body.parts('video')
  const hasCopy = parts[0]?.value('copy') === true
  return parts.map((part, at) => {
    const rendition = readRendition(part)
    checkCopy(part, at, hasCopy)
    const clash = part.value('height') !== undefined && seen.has(rendition.id)
    if (clash) part.problems.add(`${part.at}id`, `there are two renditions ${rendition.id}; name them apart`)
    seen.add(rendition.id)
    return rendition
  })
}

/** Renditions that follow the keyframes of a copied one need all frames of the source: one that is left out may be such. */
function checkCopy(body: RenditionBody, index: number, hasCopy: boolean): void {
  const { problems, at } = body
  if (index > 0 && body.value('copy') === true) problems.add(`${at}copy`, 'only the first rendition can be copied')
  if (hasCopy && body.names('frameRate'))
    problems.add(`${at}frameRate`, 'must be absent where the first rendition is copied')
}

function readRendition(body: RenditionBody): Rendition {
  const [width, height] = [body.value('width') ?? 0, body.value('height') ?? 0]
  if (width % 2 === 1) body.problems.add(`${body.at}width`, 'must be even')
  if (height % 2 === 1) body.problems.add(`${body.at}height`, 'must be even')
  const id = body.value('id') ?? `${height}p`
  if (!/^[\w-]+$/.test(id)) body.problems.add(`${body.at}id`, 'must be letters, digits, - and _')
  const label = body.value('label') ?? id
  checkLabel(`${body.at}label`, label, body.problems)
  const copy = body.value('copy') === true ? { copy: true as const } : {}
  return { id, label, width, height, bitrate: body.value('bitrate') ?? 0, frameRate: readFrameRate(body), ...copy }
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
    audioOnly: ladder.audioOnly,
    createdAt: isoTime(ladder.createdAtMs),
    updatedAt: isoTime(ladder.updatedAtMs),
  }
}
