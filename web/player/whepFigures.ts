import type { MediaStats } from '../client/index.ts'
import type { Figures } from './playback.ts'

type Report = Readonly<Record<string, unknown>>

/** Some browsers count these times from 1900, as NTP does, and some from 1970. */
const NTP_TO_UNIX_MS = 2_208_988_800_000

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null)

const unixMs = (ms: number): number => (ms > NTP_TO_UNIX_MS ? ms - NTP_TO_UNIX_MS : ms)

/** Reads what a connection shows; the buffer is that of the time since the last call. */
export class WhepFigures {
  #delay = 0
  #emitted = 0

  read(stats: MediaStats, report: ReadonlyMap<string, unknown>): Figures {
    const all = [...report.values()] as Report[]
    const inbound = all.filter(({ type }) => type === 'inbound-rtp')
    const video = inbound.find(({ kind }) => kind === 'video') ?? inbound[0]
    const bufferSeconds = this.#buffer(video)
    const codecs = [stats.video?.codec ?? '', stats.audioCodec].filter(Boolean)
    return {
      bitrate: stats.bitrate,
      width: stats.video?.width ?? 0,
      height: stats.video?.height ?? 0,
      framesPerSecond: stats.video?.framesPerSecond ?? null,
      codecs: codecs.join(', '),
      loss: stats.loss,
      roundTripMs: stats.roundTripMs,
      bufferSeconds,
      dropped: numberOf(video?.['framesDropped']),
      behindSeconds: behindOf(all, video, stats.roundTripMs) ?? estimateOf(bufferSeconds, stats.roundTripMs),
    }
  }

  /** How long media waited in the jitter buffer; null: none came out of it. */
  #buffer(stream: Report | undefined): number | null {
    const delay = numberOf(stream?.['jitterBufferDelay']) ?? 0
    const emitted = numberOf(stream?.['jitterBufferEmittedCount']) ?? 0
    const [seconds, count] = [delay - this.#delay, emitted - this.#emitted]
    this.#delay = delay
    this.#emitted = emitted
    return count > 0 && seconds >= 0 ? seconds / count : null
  }
}

/**
 * How long ago the server received what is shown now. Sender reports (RFC 3550 section 6.4.1) say when that was, and what
 * the server's clock was when they left, so that the clock of this machine may be wrong. Null: the browser does not say.
 */
function behindOf(all: readonly Report[], stream: Report | undefined, roundTripMs: number | null): number | null {
  const sent = all.find(({ id }) => id !== undefined && id === stream?.['remoteId'])
  const shown = numberOf(stream?.['estimatedPlayoutTimestamp'])
  const nowMs = numberOf(stream?.['timestamp'])
  const [leftAtMs, arrivedAtMs] = [numberOf(sent?.['remoteTimestamp']), numberOf(sent?.['timestamp'])]
  if (shown === null || nowMs === null || leftAtMs === null || arrivedAtMs === null) return null
  const serverMs = nowMs - arrivedAtMs + unixMs(leftAtMs) + (roundTripMs ?? 0) / 2
  const behindMs = serverMs - unixMs(shown)
  // A browser that has just begun may not have the right report yet.
  return behindMs < 0 || behindMs > 60_000 ? null : behindMs / 1000
}

/** Half of a round trip and the buffer, in browsers without the times of sender reports. */
const estimateOf = (bufferSeconds: number | null, roundTripMs: number | null): number | null =>
  bufferSeconds === null || roundTripMs === null ? null : bufferSeconds + roundTripMs / 2000
