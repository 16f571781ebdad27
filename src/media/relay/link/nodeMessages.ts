import { isObject } from '../../../base/objects.ts'
import { isVideoCodec, RTP_AUDIO_CODECS, VIDEO_CODECS } from '../../codecs/codecs.ts'
import type { RtpTrackShape } from '../forward/rtpTrack.ts'
import type { LayerSize } from '../forward/layerSize.ts'
import type { LinkMessage, LinkTrack } from './linkOffer.ts'
import { derivedLinkSecrets } from './linkTransport.ts'

/** What both ends of a share know, so that messages do not say it. */
interface Shared {
  readonly room: string
  readonly key: Uint8Array
}

/** More than audio and all layers that a publisher may send. */
const MAX_TRACKS = 16
const MAX_TEXT = 512

/** The secrets of a link between two nodes: derived at both ends. */
export const secretsOfLink = (key: Uint8Array, linkId: number): ReturnType<typeof derivedLinkSecrets> =>
  derivedLinkSecrets(key, `link ${linkId}`)

/** A message as another node gets it. */
export function textOf(message: LinkMessage): object {
  if (message.kind === 'aside') return { ...message, room: undefined }
  return message.kind === 'open' ? { ...message, room: undefined, secrets: undefined, port: undefined } : message
}

/** A message of another node, which may run another version. Null: it is none that this one understands. */
export function messageOf(text: unknown, { room, key }: Shared): LinkMessage | null {
  if (!isObject(text)) return null
  const { kind, linkId, sessionId } = text
  switch (kind) {
    case 'open':
      return offerOf(text, room, key)
    case 'close':
      return isSsrc(linkId) ? { kind, linkId } : null
    case 'rates':
      return isSsrc(linkId) && areNumbers(text['bitrates'])
        ? {
            kind,
            linkId,
            bitrates: text['bitrates'],
            sizes: sizesOf(text['sizes']),
            roundTripMs: msOf(text['roundTripMs']),
          }
        : null
    case 'aside':
      return isText(sessionId) ? { kind, room, sessionId, isAside: text['isAside'] === true } : null
    case 'want':
      return isSsrc(linkId) && areNumbers(text['ssrcs'])
        ? { kind, linkId, isWatched: text['isWatched'] === true, ssrcs: text['ssrcs'] }
        : null
    default:
      return null
  }
}

function offerOf(text: Record<string, unknown>, room: string, key: Uint8Array): LinkMessage | null {
  const { linkId, sessionId, sourceId, priority, profile, preferredTo } = text
  const tracks = tracksOf(text['tracks'])
  if (tracks === null || !isSsrc(linkId) || !isText(sessionId)) return null
  const about = { room, sessionId, sourceId: textOrNull(sourceId), profile: textOrNull(profile) }
  const order = { priority: typeof priority === 'number' ? priority : null, preferredTo: textOrNull(preferredTo) }
  return { kind: 'open', linkId, ...about, ...order, tracks, secrets: secretsOfLink(key, linkId), port: 0 }
}

/** Null: one of them is none, or has a codec that this version does not have. */
function tracksOf(list: unknown): LinkTrack[] | null {
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_TRACKS) return null
  const tracks = list.map(trackOf)
  return tracks.every((track) => track !== null) ? tracks : null
}

function trackOf(track: unknown): LinkTrack | null {
  if (!isObject(track)) return null
  const { ssrc, rtxSsrc, rid, isAskable } = track
  const shape = shapeOf(track['shape'])
  if (shape === null || !isSsrc(ssrc) || !isSsrc(rtxSsrc) || !isText(rid)) return null
  return { ssrc, rtxSsrc, shape, rid, isAskable: isAskable === true }
}

function shapeOf(shape: unknown): RtpTrackShape | null {
  if (!isObject(shape)) return null
  const { rate } = shape
  const codec = [...VIDEO_CODECS, ...RTP_AUDIO_CODECS].find((one) => one === shape['codec'])
  if (typeof rate !== 'number' || !(rate > 0) || codec === undefined) return null
  return { kind: isVideoCodec(codec) ? 'video' : 'audio', codec, rate }
}

/** None, if one of them is wrong. */
function sizesOf(list: unknown): LayerSize[] {
  if (!Array.isArray(list) || list.length > MAX_TRACKS) return []
  const sizes = list.flatMap((one: unknown) => {
    const { width, height } = isObject(one) ? one : {}
    return isPixels(width) && isPixels(height) ? [{ width, height }] : []
  })
  return sizes.length === list.length ? sizes : []
}

const LONGEST_MS = 60_000
const msOf = (value: unknown): number | null =>
  typeof value === 'number' && value >= 0 && value <= LONGEST_MS ? Math.round(value) : null
const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= MAX_TEXT
const textOrNull = (value: unknown): string | null => (isText(value) ? value : null)
const isUnsigned = (value: unknown, bits: number): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** bits
const isSsrc = (value: unknown): value is number => isUnsigned(value, 32)
const isPixels = (value: unknown): value is number => isUnsigned(value, 16)
const areNumbers = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length <= MAX_TRACKS && value.every((one) => typeof one === 'number')
