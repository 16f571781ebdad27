import { describe, expect, it } from 'vitest'
import { Freezes } from '../../web/client/freezes.ts'
import type { Report } from '../../web/client/playout.ts'
import { StatsReader } from '../../web/client/stats.ts'
import { FakePeer } from './fakes.ts'

const NOW_MS = 1_750_000_000_000
const NTP_MS = 2_208_988_800_000

interface Seen {
  /** How far the clock of the browser is ahead of the server's. */
  readonly wrongMs?: number
  readonly behindMs?: number
  /** The round trip, seconds. */
  readonly trip?: number | null
  readonly [figure: string]: unknown
}

function reportsOf({ wrongMs = 0, behindMs = 300, trip = 0.08, ...more }: Seen = {}): Report[] {
  const video = {
    id: 'v',
    type: 'inbound-rtp',
    kind: 'video',
    timestamp: NOW_MS + wrongMs,
    remoteId: 'r',
    framesDropped: 7,
    jitterBufferDelay: 6,
    jitterBufferEmittedCount: 100,
    estimatedPlayoutTimestamp: NOW_MS - behindMs + NTP_MS,
    ...more,
  }
  // It left 500 ms ago, and half a round trip later it was here.
  const sent = {
    id: 'r',
    type: 'remote-outbound-rtp',
    remoteTimestamp: NOW_MS - 500,
    timestamp: NOW_MS - 460 + wrongMs,
  }
  return [{ id: 'p', type: 'candidate-pair', nominated: true, currentRoundTripTime: trip }, video, sent]
}

function peerWith(report: object[]): RTCPeerConnection {
  const peer = new FakePeer({})
  peer.report = report
  return peer as unknown as RTCPeerConnection
}
const read = (report: object[]) => new StatsReader().read(peerWith(report))

describe('seconds behind over WHEP', () => {
  it('are what the server says, also if the clock of the machine is wrong by an hour', async () => {
    for (const wrongMs of [0, 3_600_000, -3_600_000])
      expect((await read(reportsOf({ wrongMs }))).behindSeconds).toBeCloseTo(0.3, 6)
  })

  it('are estimated from buffer and round trip where the browser has no such times, or wrong ones', async () => {
    const without = { estimatedPlayoutTimestamp: undefined }
    for (const more of [without, { remoteId: undefined }, { behindMs: 100_000 }, { behindMs: -2000 }])
      expect((await read(reportsOf(more))).behindSeconds).toBeCloseTo(0.06 + 0.04, 6)
    expect((await read(reportsOf({ ...without, trip: null }))).behindSeconds).toBe(null)
  })

  it('stand beside the buffer of the time since the last call', async () => {
    const stats = new StatsReader()
    const { bufferSeconds, dropped } = await stats.read(peerWith(reportsOf()))
    expect([bufferSeconds, dropped]).toEqual([0.06, 7])
    const later = reportsOf({ jitterBufferDelay: 7, jitterBufferEmittedCount: 110 })
    expect((await stats.read(peerWith(later))).bufferSeconds).toBeCloseTo(0.1, 6)
    expect((await stats.read(peerWith([]))).bufferSeconds).toBe(null)
  })

  it('are the same in reports to the server, also of audio alone', () => {
    for (const kind of ['video', 'audio'])
      expect(new Freezes().read(reportsOf({ kind }), 0).behindMs).toBeCloseTo(300, 3)
    expect(new Freezes().read([], 0).behindMs).toBe(null)
  })
})
