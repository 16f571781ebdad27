import { expect, test } from 'vitest'
import { vp8 } from '../../../src/media/codecs/vp8.ts'
import { RtpTrack } from '../../../src/media/relay/forward/rtpTrack.ts'
import { BitrateMeter } from '../../../src/media/relay/forward/source.ts'
import { SentVideo } from '../../../src/media/relay/inbound/sentVideo.ts'

const START_MS = 1_750_000_000_000

/** The layer of a simulcast, and how to send a keyframe of this width. */
function layer(rid: string) {
  const track = new RtpTrack({ kind: 'video', codec: 'vp8', rate: 90_000 }, null)
  const meter = new BitrateMeter(START_MS)
  let index = 0
  const send = (width: number): void => {
    const payload = Buffer.from([0x10, 0x10, 0, 0, 0x9d, 0x01, 0x2a, 0, 0, 0xe0, 0x01])
    payload.writeUInt16LE(width, 7)
    index += 1
    track.take({ ssrc: 1, index, timestamp: index * 3600, marker: true, payload, isKeyStart: true }, START_MS)
    meter.add(payload.length)
  }
  return { layer: { rid, track, meter }, send }
}

function video() {
  const [low, high, middle] = [layer('l'), layer('h'), layer('m')]
  const layers = [low, high, middle].map((one) => one.layer)
  const sent = new SentVideo(layers, vp8)
  return { low, high, middle, layers, sent, widthAt: (ms: number) => sent.newSize(START_MS + ms)?.width ?? null }
}

test('the size of the video is that of its largest layer, wherever it stands', () => {
  const { low, high, middle, widthAt, sent } = video()
  expect([widthAt(0), sent.frames]).toEqual([null, 0])
  for (const [one, width] of [
    [low, 320],
    [high, 1280],
    [middle, 640],
  ] as const)
    one.send(width)
  expect(widthAt(1)).toBe(1280)
  low.send(320)
  expect(sent.frames).toBe(2)
})

test('a layer that a browser has paused is not the size of the video, unless all are', () => {
  const { low, high, layers, widthAt } = video()
  low.send(320)
  high.send(1280)
  for (const { meter } of layers) meter.tick(START_MS + 1000)
  low.send(320)
  for (const { meter } of layers) meter.tick(START_MS + 2000)
  expect(widthAt(2000)).toBe(320)
  for (const { meter } of layers) meter.tick(START_MS + 3000)
  expect(widthAt(12_000)).toBe(1280)
})

test('once the size is known, Sluice looks again after ten seconds, and reports only a change', () => {
  const { high, widthAt } = video()
  high.send(1280)
  expect(widthAt(0)).toBe(1280)
  high.send(640)
  expect([widthAt(9999), widthAt(10_000), widthAt(20_000)]).toEqual([null, 640, null])
})
