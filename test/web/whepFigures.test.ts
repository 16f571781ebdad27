import { describe, expect, it } from 'vitest'
import { WhepFigures } from '../../web/player/whepFigures.ts'

const STATS = {
  bitrate: 1_000_000,
  video: { width: 640, height: 360, framesPerSecond: 30, codec: 'H264' },
  audioCodec: 'opus',
  loss: 0.01,
  roundTripMs: 80,
}
const NOW_MS = 1_750_000_000_000
const NTP_MS = 2_208_988_800_000

/** Reports of a browser whose clock is `wrongMs` ahead of the server's. */
function reportOf({ wrongMs = 0, behindMs = 300, ...more } = {}): Map<string, object> {
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
  return new Map<string, object>([
    ['v', video],
    ['r', sent],
  ])
}

describe('seconds behind over WHEP', () => {
  it('are what the server says, also if the clock of the machine is wrong by an hour', () => {
    for (const wrongMs of [0, 3_600_000, -3_600_000])
      expect(new WhepFigures().read(STATS, reportOf({ wrongMs })).behindSeconds).toBeCloseTo(0.3, 6)
  })

  it('are estimated from buffer and round trip where the browser has no such times, or wrong ones', () => {
    const without = { estimatedPlayoutTimestamp: undefined }
    for (const more of [without, { remoteId: undefined }, { behindMs: 100_000 }, { behindMs: -2000 }])
      expect(new WhepFigures().read(STATS, reportOf(more as object)).behindSeconds).toBeCloseTo(0.06 + 0.04, 6)
    const read = new WhepFigures().read({ ...STATS, roundTripMs: null }, reportOf(without as object))
    expect(read.behindSeconds).toBe(null)
  })

  it('stand beside what else the connection has, the buffer of the time since the last call', () => {
    const figures = new WhepFigures()
    expect(figures.read(STATS, reportOf())).toEqual({
      bitrate: 1_000_000,
      width: 640,
      height: 360,
      framesPerSecond: 30,
      codecs: 'H264, opus',
      loss: 0.01,
      roundTripMs: 80,
      bufferSeconds: 0.06,
      dropped: 7,
      behindSeconds: expect.closeTo(0.3, 6) as number,
    })
    const later = reportOf({ jitterBufferDelay: 7, jitterBufferEmittedCount: 110 } as object)
    expect(figures.read(STATS, later).bufferSeconds).toBeCloseTo(0.1, 6)
    expect(figures.read({ ...STATS, video: null }, new Map()).bufferSeconds).toBe(null)
  })
})
