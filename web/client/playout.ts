/** One entry of the browser's statistics. */
export type Report = Readonly<Record<string, unknown>> & { readonly type: string; readonly id: string }

/** How late media is shown. Null: not known, or nothing is received. */
export interface Playout {
  /** How long media waited in the jitter buffer, since the last call. */
  readonly bufferSeconds: number | null
  /** How long ago the server received what is shown now. */
  readonly behindSeconds: number | null
}

/** Some browsers count these times from 1900, as NTP does, and some from 1970. */
const NTP_TO_UNIX_MS = 2_208_988_800_000
const BEHIND_MAX_MS = 60_000

export const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null)
export const countOf = (value: unknown): number => numberOf(value) ?? 0

/** The entries of a type. */
export const ofType = (all: readonly Report[], type: string): Report[] => all.filter((report) => report.type === type)

const unixMs = (ms: number): number => (ms > NTP_TO_UNIX_MS ? ms - NTP_TO_UNIX_MS : ms)

/** The browser's statistics of a connection, as a list. */
export const readReports = async (pc: RTCPeerConnection): Promise<Report[]> => [
  ...((await pc.getStats()) as unknown as ReadonlyMap<string, Report>).values(),
]

/** Reads how late a connection shows what it receives: its video, or else its audio. */
export class PlayoutReader {
  #delay = 0
  #emitted = 0

  read(all: readonly Report[]): Playout {
    const received = ofType(all, 'inbound-rtp')
    const stream = received.find(({ kind }) => kind === 'video') ?? received[0]
    const bufferSeconds = this.#buffer(stream)
    const roundTripMs = roundTripOf(all)
    const estimated = bufferSeconds === null || roundTripMs === null ? null : bufferSeconds + roundTripMs / 2000
    return { bufferSeconds, behindSeconds: behindOf(all, stream, roundTripMs) ?? estimated }
  }

  #buffer(stream: Report | undefined): number | null {
    const delay = countOf(stream?.['jitterBufferDelay'])
    const emitted = countOf(stream?.['jitterBufferEmittedCount'])
    const [seconds, count] = [delay - this.#delay, emitted - this.#emitted]
    this.#delay = delay
    this.#emitted = emitted
    return count > 0 && seconds >= 0 ? seconds / count : null
  }
}

/**
 * By the times of sender reports (RFC 3550 section 6.4.1): when the server received what is shown, and what its clock was when
 * they left, so that the clock of this machine may be wrong. Null: the browser does not say.
 */
function behindOf(all: readonly Report[], stream: Report | undefined, roundTripMs: number | null): number | null {
  const sent = all.find(({ id }) => id === stream?.['remoteId'])
  const shown = numberOf(stream?.['estimatedPlayoutTimestamp'])
  const now = numberOf(stream?.['timestamp'])
  const [left, arrived] = [numberOf(sent?.['remoteTimestamp']), numberOf(sent?.['timestamp'])]
  if (shown === null || now === null || left === null || arrived === null) return null
  const behindMs = now - arrived + unixMs(left) + (roundTripMs ?? 0) / 2 - unixMs(shown)
  // A browser that has just begun may not have the right report yet.
  return behindMs < 0 || behindMs > BEHIND_MAX_MS ? null : behindMs / 1000
}

/** Milliseconds; null: not known. Firefox knows it only from the reports of the other side. */
export function roundTripOf(all: readonly Report[]): number | null {
  const selected = ofType(all, 'transport')[0]?.['selectedCandidatePairId']
  const pairs = ofType(all, 'candidate-pair').filter(({ id, nominated }) =>
    selected === undefined ? nominated : id === selected,
  )
  const times = [
    ...pairs.map(({ currentRoundTripTime }) => currentRoundTripTime),
    ...ofType(all, 'remote-inbound-rtp').map(({ roundTripTime }) => roundTripTime),
  ]
  const seconds = times.find((time) => typeof time === 'number')
  return seconds === undefined ? null : Math.round(seconds * 1000)
}
