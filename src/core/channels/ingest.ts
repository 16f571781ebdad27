import { isoTime } from '../../base/time.ts'
import type { Result } from '../../base/result.ts'
import type { FieldErrors } from '../errors.ts'
import { Problems } from '../validation/problems.ts'
import { readShape, type BodyReader } from '../validation/bodyReader.ts'
import { audioTrackRecord, checkAudioTracks, readAudioTracks } from './audioTracks.ts'
import { readName } from './name.ts'
import { CreateIngest, type IngestRecord, UNSERVED_TYPES, UpdateIngest } from './ingestSchema.ts'
import { readRegion } from './region.ts'
import { withoutPassword } from '../pulls/source.ts'
import { refuseSource } from './source.ts'
import {
  type ChannelSettings,
  INGEST_FACTS,
  INGEST_TYPES,
  type Ingest,
  type IngestAudio,
  type IngestType,
  isPush,
} from './types.ts'

/** An ingest to be created. `url` is the source of a pull, null for a push. */
export interface NewIngest {
  name: string
  type: IngestType
  region: string
  url: string | null
  audio: readonly IngestAudio[]
}

/** The fields in an update. */
export type IngestPatch = Partial<NewIngest>

export function readCreateIngest(body: unknown, settings: ChannelSettings): Result<NewIngest, FieldErrors> {
  const problems = new Problems()
  return problems.settle(readIngestBody(readShape(CreateIngest, body, problems), settings))
}

/** The same for an ingest inside a larger body. Errors are added to its problems. */
export function readIngestBody(body: BodyReader<CreateIngest>, settings: ChannelSettings): NewIngest {
  const type = readType(body)
  const url = body.value('url') ?? null
  const audio = readAudioTracks(body) ?? []
  if (type !== undefined) checkUrl(body, type, url, settings)
  if (type !== undefined) checkAudioTracks(body, type, audio)
  return {
    name: readName(body) ?? '',
    type: type ?? 'rtmp-push',
    region: readRegion(body, settings) ?? '',
    url,
    audio,
  }
}

/**
 * Parses an update of `before`, whose source is `url` and whose record shows `shownUrl`: the fields that it changes. A new type may
 * need a new source.
 */
export function readUpdateIngest(
  body: unknown,
  before: Pick<Ingest, 'type' | 'region' | 'audio'> & { url: string | null; shownUrl: string | undefined },
  settings: ChannelSettings,
): Result<IngestPatch, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(UpdateIngest, body, problems)
  const name = readName(reader)
  const type = readType(reader)
  const given = reader.value('url')
  // As the record shows it: the source stays.
  const sent = given === before.shownUrl ? (before.url ?? undefined) : given
  const after = type ?? before.type
  const currentUrl = after === before.type ? before.url : null
  if (type !== undefined || sent !== undefined) checkUrl(reader, after, sent ?? currentUrl, settings)
  const audio = readAudioTracks(reader)
  checkAudioTracks(reader, after, audio ?? before.audio)
  const region = reader.value('region') === undefined ? undefined : readRegion(reader, settings)
  return problems.settle({
    ...(name === undefined ? {} : { name }),
    ...(type === undefined || type === before.type ? {} : { type }),
    ...(sent === undefined || sent === before.url ? {} : { url: sent }),
    ...(region === undefined || region === before.region ? {} : { region }),
    ...(audio === undefined || areSame(audio, before.audio) ? {} : { audio }),
  })
}

const areSame = (a: readonly IngestAudio[], b: readonly IngestAudio[]): boolean =>
  JSON.stringify(a) === JSON.stringify(b)

type TypeBody = BodyReader<Pick<UpdateIngest, 'type'>>

function readType(body: TypeBody): IngestType | undefined {
  const type: string | undefined = body.value('type')
  if (type === undefined) return undefined
  const served = INGEST_TYPES.find((supported) => supported === type)
  if (served === undefined) {
    const why = UNSERVED_TYPES[type as keyof typeof UNSERVED_TYPES]
    body.problems.add(`${body.at}type`, `${type} is not built: ${why}; served are ${INGEST_TYPES.join(', ')}`)
  }
  return served
}

function checkUrl(
  body: BodyReader<Pick<UpdateIngest, 'url'>>,
  type: IngestType,
  url: string | null,
  settings: ChannelSettings,
): void {
  const path = `${body.at}url`
  if (body.problems.touches(path)) return
  if (isPush(type)) {
    if (url !== null) body.problems.add(path, 'cannot be chosen for a push: Sluice hands out its address')
    return
  }
  const reason = url === null ? `is required for ${type}: where the source is` : undefined
  const refused = reason ?? refuseSource(type, url ?? '', settings.sources)
  if (refused !== null) body.problems.add(path, refused)
}

/** What a record shows to those who may read secrets. */
export interface IngestSecrets {
  /** The stream key of a push, or the source of a pull. */
  readonly secret: string
  /** With which a publisher over SRT encrypts. */
  readonly passphrase: string
}

/** No reader gets the password of a source. @param secrets null: they are left out */
export function toIngestRecord(ingest: Ingest, secrets: IngestSecrets | null, settings: ChannelSettings): IngestRecord {
  const push = isPush(ingest.type)
  const secret = secrets?.secret ?? null
  const url = push ? pushUrl(ingest, secrets, settings) : secret && withoutPassword(secret)
  return {
    id: ingest.id,
    channelId: ingest.channelId,
    name: ingest.name,
    type: ingest.type,
    ...(url === null ? {} : { url }),
    ...(push && secret !== null ? { streamKey: secret } : {}),
    tracks: { audio: ingest.audio.map(audioTrackRecord) },
    captions: [],
    createdAt: isoTime(ingest.createdAtMs),
  }
}

/** Only an address of SRT has the key in it. */
const pushUrl = ({ type }: Ingest, secrets: IngestSecrets | null, { rtmpUrl, srtUrl }: ChannelSettings): string =>
  INGEST_FACTS[type].hasPassphrase ? `${srtUrl}${secrets === null ? '' : srtQuery(secrets)}` : rtmpUrl

/** As ffmpeg, OBS and others write it. */
const srtQuery = ({ secret, passphrase }: IngestSecrets): string =>
  `?streamid=${encodeURIComponent(`live/${secret}`)}&passphrase=${passphrase}`
