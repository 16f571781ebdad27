import { describe, expect, it } from 'vitest'
import { BitrateMeter } from '../../../src/media/relay/forward/source.ts'
import { Viewer } from '../../../src/media/relay/outbound/viewer.ts'
import { middleOf, ntpOf } from '../../../src/media/relay/wire/ntp.ts'
import type { RtcpPacket } from '../../../src/media/relay/wire/rtcp/rtcp.ts'
import { Camera, downTrackTo, MEDIA, RecordingSender } from './parts.ts'

const START_MS = 1_750_000_000_000

/** A viewer of two layers, and which of them it got last. */
function watching({ canBeAsked = true } = {}) {
  const sender = new RecordingSender()
  const transport = { isConnected: true, sendRtcp: () => undefined }
  const viewer = new Viewer({ transport, downTracks: [downTrackTo(sender)], cname: 'c' })
  const layerOf = (rid: string, bitrate: number) => {
    const [camera, meter] = [new Camera(rid, { canBeAsked }), new BitrateMeter(START_MS - 1000)]
    meter.add(bitrate / 8)
    meter.tick(START_MS)
    return { rid, track: camera.track, meter, camera }
  }
  const layers = [layerOf('small', 100_000), layerOf('large', 400_000)]
  const send = (nowMs: number, isKeyStart: boolean): void => {
    for (const { camera } of layers) camera.send(nowMs, isKeyStart)
  }
  viewer.show({ sessionId: 'p', sourceId: null, audio: null, layers, profile: null }, START_MS)
  const latest = (): string => sender.on(MEDIA).at(-1)?.payload.replace(/\d+/, '') ?? ''
  return { viewer, layers, send, latest }
}

/** A report on a packet that was answered at once, and an estimate. */
function feedback(estimate: number, nowMs: number, roundTripMs = 20): RtcpPacket[] {
  const lastReport = middleOf(ntpOf(nowMs - roundTripMs))
  const block = { ssrc: MEDIA, highestSequence: 1, packetsLost: 0, fractionLost: 0, jitter: 0 }
  return [
    { kind: 'rr', ssrc: 1, reports: [{ ...block, lastReport, delaySinceLastReport: 0 }] },
    { kind: 'remb', senderSsrc: 1, bitrate: estimate, ssrcs: [MEDIA] },
  ]
}

describe('the estimate of a viewer falls far, and its reports show that nothing waits on the link', () => {
  /** The layer that it gets after that. @param stops what stands still for 300 ms before */
  function layerAfter(stops: 'nothing' | 'the process' | 'the publisher'): string {
    const { viewer, send, latest } = watching()
    for (let ms = 0; ms < 10_000; ms += 20) {
      const nowMs = START_MS + ms
      const isStopped = ms > 8000 && ms <= 8300
      if (!isStopped || stops !== 'the publisher') send(nowMs, true)
      if (isStopped && stops === 'the process') continue
      viewer.pace(nowMs)
      if (ms % 200 > 0) continue
      viewer.tick(nowMs)
      viewer.rtcp(feedback(ms < 8600 ? 600_000 : 150_000, nowMs), nowMs)
    }
    return latest()
  }

  it('with the link, where media came evenly: it gets a smaller layer', () => {
    expect(layerAfter('nothing')).toBe('small')
  })

  it.each(['the process', 'the publisher'] as const)('with a pause of %s, which took its layer away', (what) => {
    expect(layerAfter(what)).toBe('large')
  })
})

it('a picture each second was a pause, during which no report of a queue counted', () => {
  const { viewer, send, latest } = watching()
  for (let ms = 0; ms < 12_000; ms += 20) {
    const nowMs = START_MS + ms
    if (ms % 1000 === 0) send(nowMs, true)
    viewer.pace(nowMs)
    if (ms % 200 > 0) continue
    viewer.tick(nowMs)
    viewer.rtcp(ms < 8000 ? feedback(600_000, nowMs) : feedback(150_000, nowMs, 500), nowMs)
  }
  expect(latest()).toBe('small')
})

it.each(['large', null])(
  'the frames of another layer came again while the whole source paused, for a choice of %s',
  (choice) => {
    const { viewer, layers, send, latest } = watching({ canBeAsked: false })
    send(START_MS, true)
    viewer.layers(choice, START_MS)
    for (const { meter } of layers) meter.bitrate = 0
    viewer.tick(START_MS + 200)
    send(START_MS + 240, false)
    expect([viewer.layers(undefined, START_MS + 240), latest()]).toMatchObject([
      { chosen: choice, sent: 'large' },
      'large',
    ])
  },
)
