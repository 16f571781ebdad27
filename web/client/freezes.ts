import { type Counted, NOTHING_COUNTED } from './quality.ts'

type Report = Readonly<Record<string, unknown>>

/** Without a new picture for this time it stands still, also if the browser says so only when it moves again. */
const STILL_MS = 1000

const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0)

/** Pictures, and stalls between them, of one connection. */
export class Freezes {
  #frames = 0
  #movedAtMs: number | null = null
  #ownStalls = 0
  #ownMs = 0

  /** Whether media has come: video, or audio where there is no video. */
  get hasMoved(): boolean {
    return this.#movedAtMs !== null
  }

  /** Reads the statistics of a connection. Call it about once a second. */
  async read(pc: RTCPeerConnection, nowMs: number): Promise<Counted> {
    const all = [...((await pc.getStats()) as unknown as Map<string, Report>).values()]
    const inbound = all.filter((one) => one['type'] === 'inbound-rtp')
    const video = inbound.find((one) => one['kind'] === 'video')
    const frames = video ? numberOf(video['framesDecoded']) : numberOf(inbound[0]?.['packetsReceived'])
    const stillMs = this.#movedAtMs === null ? 0 : nowMs - this.#movedAtMs
    const isStill = stillMs >= STILL_MS
    if (frames > this.#frames) {
      if (isStill) this.#ownStalls += 1
      if (isStill) this.#ownMs += stillMs
      this.#movedAtMs = nowMs
    }
    const isStillNow = isStill && frames <= this.#frames
    this.#frames = frames
    if (video === undefined) return NOTHING_COUNTED
    const counts = typeof video['freezeCount'] === 'number'
    return {
      frames,
      dropped: numberOf(video['framesDropped']),
      height: numberOf(video['frameHeight']),
      behindMs: null,
      stalls: (counts ? numberOf(video['freezeCount']) : this.#ownStalls) + (isStillNow ? 1 : 0),
      stalledMs: (counts ? 1000 * numberOf(video['totalFreezesDuration']) : this.#ownMs) + (isStillNow ? stillMs : 0),
    }
  }
}
