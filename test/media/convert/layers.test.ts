import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import type { VideoCodec } from '../../../src/media/codecs/codecs.ts'
import { ENDLESS_ROOM } from '../../../src/media/convert/encodingRoom.ts'
import { webRtcMedia } from '../../../src/media/convert/opus.ts'
import type { Ffmpeg, FfmpegJob } from '../../../src/media/ffmpeg/ffmpeg.ts'
import { type Frame, rtpAudioTrack, type TrackInfo, type VideoTrack } from '../../../src/media/frame.ts'
import { Hub } from '../../../src/media/hub.ts'
import { silentLog } from '../../support/log.ts'
import { aggregateOf, avcConfig, videoFrame } from '../rtmp/media.ts'

const OPUS = rtpAudioTrack('opus', 48_000)
/** Profile main, which may have B-frames. */
const MAIN_PROFILE = Uint8Array.of(1, 77, 0, 30, 255)
const layer = (name: string, width: number, codec: VideoCodec = 'h264'): VideoTrack => ({
  kind: 'video',
  codec,
  width,
  height: 90,
  config: MAIN_PROFILE,
  layer: name,
})
const frame = (name: string, ms: number, { key = false, shownMs = ms } = {}): Frame => ({
  kind: 'video',
  layer: name,
  timeUs: shownMs * 1000,
  decodeTimeUs: ms * 1000,
  key,
  data: Uint8Array.of(0),
})

/** Nothing here has to be encoded, but for what a test says. */
const noFfmpeg = { run: () => ({ ok: false, error: { message: 'there is no process' } }) } as unknown as Ffmpeg

const optionsWith = (ffmpeg: Ffmpeg) => {
  return { ffmpeg, clock: systemClock, log: silentLog, name: 'test', encodingRoom: ENDLESS_ROOM }
}

/** What a subscriber to each form of the media gets, and what is announced to it. */
function shown(tracks: readonly TrackInfo[], frames: readonly Frame[]) {
  const hub = new Hub()
  const converted = webRtcMedia(hub, optionsWith(noFfmpeg))
  const forms = [converted.media, converted.original].map((media) => {
    const [announced, lists, got]: [string[][], string[][], string[]] = [[], [], []]
    const names = (all: readonly TrackInfo[]): string[] =>
      all.map((track) => (track.kind === 'video' ? `${track.codec} ${track.layer ?? 'alone'}` : track.codec))
    media.announce((all) => void announced.push(names(all)))
    media.subscribe({
      takesLayers: true,
      tracks: (all) => void lists.push(names(all)),
      frame: (one) => void got.push(`${one.layer} ${one.decodeTimeUs / 1000}`),
      end: () => undefined,
    })
    return { announced, lists, got }
  })
  hub.tracks(tracks)
  for (const one of frames) hub.frame(one)
  return forms
}

const BOTH = ['0', '1'].flatMap((name) => [frame(name, 0, { key: true }), frame(name, 40), frame(name, 80)])
const inOrder = BOTH.toSorted((a, b) => a.decodeTimeUs - b.decodeTimeUs)
const ALL = ['0 0', '1 0', '0 40', '1 40', '0 80', '1 80']

test('all layers of H.264 reach viewers as they are', () => {
  const [media, original] = shown([layer('0', 160), layer('1', 80), OPUS], inOrder)
  const names = ['h264 0', 'h264 1', 'opus']
  expect(media).toEqual({ announced: [names], lists: [names], got: ALL })
  expect(original?.got).toEqual([])
})

test('all layers of VP8 reach those who have the codec, and the others wait for what is encoded of the main one', () => {
  const [media, original] = shown([layer('0', 160, 'vp8'), layer('1', 80, 'vp8'), OPUS], inOrder)
  const names = ['vp8 0', 'vp8 1', 'opus']
  expect(original).toMatchObject({ lists: [names], got: ALL })
  expect(original?.announced.at(-1)).toEqual(names)
  expect(media).toEqual({ announced: [['h264 0', 'opus']], lists: [], got: [] })
})

test('a layer with B-frames is left out', () => {
  const shuffled = inOrder.map((one) =>
    one.layer === '1' && one.decodeTimeUs === 40_000 ? { ...one, timeUs: 90_000 } : one,
  )
  const [media] = shown([layer('0', 160), layer('1', 80), OPUS], shuffled)
  expect(media?.lists).toEqual([
    ['h264 0', 'h264 1', 'opus'],
    ['h264 0', 'opus'],
  ])
  expect(media?.got).toEqual(['0 0', '1 0', '0 40', '0 80'])
})

test('the audio is converted on while another layer becomes the main one', () => {
  const aac: TrackInfo = {
    kind: 'audio',
    codec: 'aac',
    sampleRate: 48_000,
    channels: 2,
    config: Uint8Array.of(0x11, 0x90),
  }
  const audioFrame = (ms: number): Frame => {
    const timeUs = ms * 1000
    return { kind: 'audio', timeUs, decodeTimeUs: timeUs, key: true, data: Uint8Array.of(0) }
  }
  const events: string[] = []
  const process = {
    write: () => true,
    exited: new Promise(() => undefined),
    stop: async () => void events.push('stopped'),
  }
  const run = (): unknown => (events.push('started'), { ok: true, value: process })
  const [hub, widths]: [Hub, number[]] = [new Hub(), []]
  webRtcMedia(hub, optionsWith({ run } as unknown as Ffmpeg)).media.subscribe({
    tracks: (all) => void widths.push(...all.flatMap((track) => (track.kind === 'video' ? [track.width] : []))),
    frame: () => undefined,
    end: () => undefined,
  })
  for (const [at, order] of [
    [layer('0', 160), layer('1', 80)],
    [layer('1', 80), layer('0', 160)],
  ].entries()) {
    hub.tracks([...order, aac])
    for (const ms of [0, 40]) {
      hub.frame(frame(String(at), at * 1000 + ms, { key: ms === 0 }))
      hub.frame(audioFrame(at * 1000 + ms))
    }
  }
  expect([widths, events]).toEqual([[160, 80], ['started']])
})

test('video that was encoded for viewers over WebRTC was 24.8 days from its sound, when a process began later than that', async () => {
  const jobs: FfmpegJob[] = []
  const process = { write: () => true, exited: new Promise(() => undefined), stop: async () => undefined }
  const run = (job: FfmpegJob): unknown => (jobs.push(job), { ok: true, value: process })
  const [hub, got]: [Hub, number[]] = [new Hub(), []]
  webRtcMedia(hub, optionsWith({ run } as unknown as Ffmpeg)).media.subscribe({
    tracks: () => undefined,
    frame: ({ timeUs }) => void got.push(timeUs / 1000),
    end: () => undefined,
  })
  hub.tracks([layer('0', 160, 'vp8')])
  const times = [0, 40, 80].map((ms) => 2 ** 31 + 1000 + ms)
  for (const ms of times) hub.frame(frame('0', ms, { key: true }))
  const encoded = times.map((ms) => videoFrame(ms % 2 ** 31))
  jobs[0]?.stdout?.(Buffer.concat([Buffer.alloc(13), aggregateOf(0, [avcConfig(), ...encoded]).payload]))
  expect(got).toEqual(times)
})
