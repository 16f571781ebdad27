import type { StreamOnAir } from '../../src/core/streams/streamOnAir.ts'

/** A stream on the air that is well and has no viewers. */
export const streamOnAir = (over: Partial<StreamOnAir> = {}): StreamOnAir => ({
  streamName: 'show',
  streamId: 'a1b2c3/show',
  startedOn: '2026-01-31T12:00:00.000Z',
  sources: 1,
  feedId: 'f',
  sessionId: 's',
  protocol: 'whip',
  node: 'n',
  tokenId: 1,
  secured: false,
  recorded: false,
  health: 'steady',
  findings: [],
  source: {},
  viewers: 0,
  viewersByProtocol: { whep: 0, hls: 0 },
  mostViewers: 0,
  bitrateOut: 0,
  channel: null,
  ...over,
})
