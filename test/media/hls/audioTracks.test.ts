import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { hlsMaster } from '../../../src/core/hls/master.ts'
import type { AudioTrack } from '../../../src/media/frame.ts'
import { ChannelStreams } from '../../../src/media/hls/channelStreams.ts'
import type { ChannelStream } from '../../../src/media/hls/channelStream.ts'
import { RUNGS, StagedEngine } from '../../support/stagedEngine.ts'

const AUDIO: AudioTrack = {
  kind: 'audio',
  codec: 'aac',
  sampleRate: 48_000,
  channels: 2,
  config: Buffer.from([0x11, 0x90]),
}
const LISTED = [
  { language: 'en', label: 'English' },
  { language: 'de', label: 'Deutsch' },
  { language: 'fr', label: 'Français' },
]
/** Those of the ladder come first. */
const [ENGLISH, GERMAN, FRENCH] = ['2', '3', '4']

/** An engine whose source has these of the listed tracks. Each frame of one has its index as its bytes. */
class SpokenEngine extends StagedEngine {
  speaks(indexes: readonly number[]): this {
    const { rungs } = this.begin().sink
    const further = indexes.slice(1).map((audioIndex) => ({ ...AUDIO, audioIndex }))
    for (const [at, rung] of rungs.entries())
      rung.tracks([this.videoOf(at), ...(indexes.length > 0 ? [AUDIO] : []), ...(at === 0 ? further : [])])
    return this
  }

  /** @param isSilent tells which index says nothing at a time in seconds */
  talk(segments: number, indexes: readonly number[], isSilent = (_place: number, _seconds: number) => false): this {
    const { rungs } = this.sink
    const from = this.seconds
    for (let at = 0; at < segments * 2; at += 1024 / 48_000) {
      const timeUs = Math.round((from + at) * 1e6)
      for (const [order, index] of indexes.entries()) {
        if (isSilent(index, at)) continue
        const data = Buffer.alloc(40, 0xa0 + index)
        const frame = { kind: 'audio', key: true, timeUs, decodeTimeUs: timeUs, data } as const
        if (order > 0) rungs[0]?.frame({ ...frame, audioIndex: index })
        else for (const rung of rungs) rung.frame(frame)
      }
    }
    return this.play(segments)
  }
}

function staged(listed = LISTED) {
  const clock = new ManualClock(Date.UTC(2026, 10, 28))
  const engine = new SpokenEngine(new ChannelStreams(clock), 'en_1', {
    audio: listed,
    run: { audio: 128_000, audioTracks: [0, 1, 2] },
  })
  return { clock, engine, stream: engine.stream }
}

const closedOf = (stream: ChannelStream, rendition: string) =>
  stream.facts(rendition)?.segments.filter(({ closed }) => closed) ?? []

/** The indexes whose bytes are in a rendition's segment; silence has none. */
function heard(stream: ChannelStream, rendition: string, segment = -1): number[] {
  const n = closedOf(stream, rendition).at(segment)?.n
  const bytes = stream.piece({ rendition, kind: 'segment', name: `s${n}.m4s` }) ?? Buffer.alloc(0)
  return LISTED.flatMap((_, index) => (bytes.includes(Buffer.alloc(40, 0xa0 + index)) ? [index] : []))
}

test('each listed track is a rendition with the segments and parts of the video, which has no audio', () => {
  const { engine, stream } = staged()
  engine.speaks([0, 1, 2]).talk(3, [0, 1, 2])
  const shape = (rendition: string) =>
    closedOf(stream, rendition).map(({ n, startMs, duration, parts }) => [n, startMs, duration, parts.length])
  expect([ENGLISH, GERMAN, FRENCH].map((name) => shape(name))).toEqual(Array(3).fill(shape('0')))
  expect(['0', '1', ENGLISH, GERMAN, FRENCH].map((name) => heard(stream, name))).toEqual([[], [], [0], [1], [2]])
})

test('the master playlist names the tracks, and its CODECS and BANDWIDTH have the audio that is not in the video', () => {
  const { engine, stream } = staged()
  engine.speaks([0, 1, 2]).talk(1, [0, 1, 2])
  const lines = hlsMaster(stream.variants(), (name) => `${name}.m3u8`, stream.audioTracks()).split('\n')
  expect(lines.filter((line) => line.startsWith('#EXT-X-MEDIA:'))).toEqual([
    '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio-en_1",NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="2.m3u8"',
    '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio-en_1",NAME="Deutsch",LANGUAGE="de",DEFAULT=NO,AUTOSELECT=YES,CHANNELS="2",URI="3.m3u8"',
    '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio-en_1",NAME="Français",LANGUAGE="fr",DEFAULT=NO,AUTOSELECT=YES,CHANNELS="2",URI="4.m3u8"',
  ])
  const variants = lines.filter((line) => line.startsWith('#EXT-X-STREAM-INF:'))
  expect(variants).toHaveLength(2)
  for (const line of variants) expect(line).toMatch(/CODECS="avc1.64001f,mp4a.40.2".*AUDIO="audio-en_1"$/)
  expect(stream.variants()[0]).toMatchObject({ bandwidth: 3_602_116, averageBandwidth: 2_644_000 })
})

test('one listed track stays in the video, and has its name', () => {
  const { engine, stream } = staged(LISTED.slice(0, 1))
  engine.speaks([0]).talk(1, [0])
  expect([stream.has(ENGLISH), heard(stream, '0')]).toEqual([false, [0]])
  expect(stream.audioTracks()).toMatchObject([{ rendition: null, label: 'English', isDefault: true }])
  expect(stream.variants()[0]).toMatchObject({ codecs: 'avc1.64001f,mp4a.40.2', audioGroup: 'audio-en_1' })
})

test('a track that the source lacks is not listed, and a player of it hears the first one until it is back', () => {
  const { engine, stream, clock } = staged()
  engine.speaks([0, 1, 2]).talk(2, [0, 1, 2])
  engine.end()
  clock.advance(10_000)
  engine.run = { audio: 128_000, audioTracks: [1, 2] }
  engine.speaks([1, 2]).talk(2, [1, 2])
  expect(stream.audioTracks().map(({ label, isDefault }) => [label, isDefault])).toEqual([
    ['Deutsch', true],
    ['Français', false],
  ])
  expect([ENGLISH, GERMAN, FRENCH].map((name) => heard(stream, name))).toEqual([[1], [1], [2]])
  engine.end()
  clock.advance(10_000)
  engine.run = { audio: 128_000, audioTracks: [0, 1, 2] }
  engine.speaks([0, 1, 2]).talk(2, [0, 1, 2])
  expect([ENGLISH, GERMAN, FRENCH].map((name) => heard(stream, name))).toEqual([[0], [1], [2]])
  const numbers = [0, 1, 2].map((at) =>
    closedOf(stream, String(2 + at)).map(({ n, discontinuity }) => [n, discontinuity]),
  )
  expect(numbers).toEqual(Array(3).fill(closedOf(stream, '0').map(({ n, discontinuity }) => [n, discontinuity])))
})

test('a track that falls silent is silent, and goes on with the others', () => {
  const { engine, stream } = staged()
  engine.speaks([0, 1, 2]).talk(4, [0, 1, 2], (index, seconds) => index === 2 && seconds > 3.9 && seconds < 6.1)
  expect([1, 2, 3].map((segment) => heard(stream, FRENCH ?? '', segment))).toEqual([[2], [], [2]])
  expect(closedOf(stream, FRENCH ?? '').map(({ n }) => n)).toEqual(closedOf(stream, '0').map(({ n }) => n))
})

test('a source without audio has no group, and its listed tracks go on in silence', () => {
  const { engine, stream } = staged()
  engine.run = { audio: 0, audioTracks: [] }
  engine.speaks([]).play(2)
  expect([stream.audioTracks(), stream.variants()[0]?.codecs, stream.variants()[0]?.audioGroup]).toEqual([
    [],
    'avc1.64001f',
    undefined,
  ])
  expect(closedOf(stream, GERMAN ?? '')).toHaveLength(2)
})

test('a slate is heard in every track, and all of them are listed', () => {
  const { stream } = staged()
  const { sinks, startMs } = stream.beginSlate({ rungs: RUNGS, audio: 128_000, audioOnly: null }, 6300)
  for (const sink of sinks)
    sink.tracks([new SpokenEngine(new ChannelStreams(new ManualClock()), 'en_2').videoOf(0), AUDIO])
  for (let at = 0; at < 4.1; at += 0.02) {
    const timeUs = Math.round(startMs * 1000 + at * 1e6)
    const key = Math.round(at / 0.02) % 100 === 0
    for (const sink of sinks) {
      sink.frame({ kind: 'audio', key: true, timeUs, decodeTimeUs: timeUs, data: Buffer.alloc(40, 0xa0) })
      sink.frame({ kind: 'video', key, timeUs, decodeTimeUs: timeUs, data: Buffer.alloc(100, 7) })
    }
  }
  expect(stream.audioTracks()).toHaveLength(3)
  expect([ENGLISH, GERMAN, FRENCH].map((name) => heard(stream, name ?? '', 0))).toEqual([[0], [0], [0]])
})
