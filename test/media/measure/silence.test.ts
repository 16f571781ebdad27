import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import type { FrameSink } from '../../../src/media/frame.ts'
import { isSilent } from '../../../src/media/measure/silence.ts'
import { TsIngest } from '../../../src/media/mpegts/ingest.ts'
import { clip } from '../../support/clips.ts'

/** The share of silent packets in two seconds, after the first, in which encoders begin. */
function silentShare(source: string, encoder: string): number {
  const silent: (boolean | null)[] = []
  let codec: 'aac' | 'opus' = 'aac'
  const sink: FrameSink = {
    tracks: ([track]) => {
      if (track?.codec === 'aac' || track?.codec === 'opus') codec = track.codec
    },
    frame: ({ timeUs, data }) => void (timeUs > 500_000 && silent.push(isSilent(codec, data))),
    end: () => undefined,
  }
  // FLV has no Opus in older versions of ffmpeg.
  const leftOut = (): void => undefined
  const ingest = new TsIngest(sink, { clock: new ManualClock(), maxFrameBytes: 1e6, leftOut })
  ingest.take(clip(`-t 2 -f lavfi -i ${source} ${encoder}`, 'ts'))
  expect(silent.length).toBeGreaterThan(30)
  expect(silent).not.toContain(null)
  // What an encoder still has at the end it fills with silence.
  const middle = silent.slice(0, -2)
  return middle.filter(Boolean).length / middle.length
}

const QUIET = 'anoisesrc=r=48000:a=0.0005'
const TONE = 'sine=frequency=440:sample_rate=48000'
const NOTHING = (layout: string) => `anullsrc=r=48000:cl=${layout}`

describe('packets of audio', () => {
  it.each([
    '-c:a aac -ac 2',
    '-c:a aac -ac 1',
    '-c:a aac -ac 2 -b:a 320k',
    '-c:a aac -ar 22050 -ac 2',
    '-c:a libopus -ac 2',
  ])('of silence are told from a tone, and from the noise of a quiet room: %s', (encoder) => {
    const layout = encoder.includes('-ac 1') ? 'mono' : 'stereo'
    expect(silentShare(NOTHING(layout), encoder)).toBe(1)
    expect(silentShare(TONE, encoder)).toBe(0)
    expect(silentShare(QUIET, encoder)).toBe(0)
  })

  it('of G.711 are silent when each sample is zero', () => {
    expect([isSilent('pcmu', Buffer.alloc(160, 0xff)), isSilent('pcma', Buffer.alloc(160, 0xd5))]).toEqual([true, true])
    expect(isSilent('pcmu', Buffer.from([0xff, 0x7e]))).toBe(false)
  })

  it('that are cut or damaged tell nothing, and never throw', () => {
    expect(isSilent('aac', Buffer.alloc(0))).not.toBe(true)
    expect(isSilent('aac', Buffer.from([0x21]))).not.toBe(true)
    for (let byte = 0; byte < 256; byte++) isSilent('aac', Buffer.alloc(40, byte))
  })
})
