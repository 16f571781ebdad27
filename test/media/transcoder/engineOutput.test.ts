import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import type { LadderSink } from '../../../src/media/encoder/encodedLadder.ts'
import type { Frame, TrackInfo } from '../../../src/media/frame.ts'
import { EngineOutputs } from '../../../src/media/transcoder/engineOutput.ts'
import { silentLog } from '../../support/log.ts'

const OF = { engineId: 'en_1', channelId: 'ch_1', accountId: 'a1b2c3' }
const RUNGS = [400_000, 900_000].map((bitrate, index) => ({
  id: String(index),
  label: String(index),
  width: 320,
  height: 180,
  bitrate,
  frameRate: null,
  index,
}))
const VIDEO: TrackInfo = { kind: 'video', codec: 'h264', width: 320, height: 180, config: new Uint8Array([1]) }
const at = (ms: number, key = false): Frame => ({
  kind: 'video',
  timeUs: ms * 1000,
  decodeTimeUs: ms * 1000,
  key,
  data: new Uint8Array(),
})

/** An engine whose output is listened to. */
function running() {
  const clock = new ManualClock()
  const outputs = new EngineOutputs({ clock, log: silentLog })
  const told: string[] = []
  const times: (number | 'end')[] = []
  const passed: number[][] = [[], []]
  outputs.watch((output, what) => {
    told.push(what)
    if (what === 'ended') return
    output.media.subscribe({
      tracks: () => undefined,
      frame: ({ decodeTimeUs }) => times.push(decodeTimeUs / 1000),
      end: () => times.push('end'),
    })
  })
  const output = outputs.open(OF)
  const out: LadderSink = {
    rungs: passed.map((frames) => ({ tracks: () => undefined, frame: (frame) => frames.push(frame.timeUs / 1000) })),
    discontinue: () => undefined,
  }
  const begin = () => {
    const sink = output.beside(RUNGS, out)
    for (const rung of sink.rungs) rung.tracks([VIDEO])
    return sink
  }
  return { clock, outputs, output, told, times, passed, begin }
}

test('gives the best rendition, and each rendition goes on its way unchanged', () => {
  const { begin, told, times, passed } = running()
  const { rungs } = begin()
  rungs[0]?.frame(at(5000, true))
  rungs[1]?.frame(at(5000, true))
  rungs[1]?.frame(at(5040))
  expect(told).toEqual(['started'])
  expect(passed).toEqual([[5000], [5000, 5040]])
  expect(times).toEqual([20, 60])
})

test('goes on where it was with the next process, later by what lay between, whatever its clock says', () => {
  const { begin, clock, output, told, times } = running()
  begin().rungs[1]?.frame(at(900_000, true))
  output.pause()
  clock.advance(3000)
  output.beside(RUNGS, { rungs: [], discontinue: () => undefined })
  const next = begin()
  next.rungs[1]?.frame(at(0, true))
  next.rungs[1]?.frame(at(40))
  next.discontinue('back')
  next.rungs[1]?.frame(at(10, true))
  expect(times).toEqual([20, 3020, 3060, 3080])
  expect(told).toEqual(['started'])
})

test('ends when there has been no process for ten seconds, and starts again with the next', () => {
  const { begin, clock, outputs, output, told, times } = running()
  begin().rungs[1]?.frame(at(0, true))
  clock.advance(60_000)
  outputs.tick()
  expect(told).toEqual(['started'])
  output.pause()
  clock.advance(9999)
  outputs.tick()
  expect(told).toEqual(['started'])
  clock.advance(1)
  outputs.tick()
  expect(told).toEqual(['started', 'ended'])
  expect(times).toEqual([20, 'end'])
  begin()
  expect(told).toEqual(['started', 'ended', 'started'])
})

test('ends with its engine, and takes nothing of a process that still writes', () => {
  const { begin, outputs, told, times } = running()
  const { rungs } = begin()
  outputs.close(OF.engineId)
  rungs[1]?.tracks([VIDEO])
  rungs[1]?.frame(at(0, true))
  expect([told, times]).toEqual([['started', 'ended'], ['end']])
  outputs.open(OF).beside(RUNGS, { rungs: [], discontinue: () => undefined })
  expect(told).toEqual(['started', 'ended'])
})

test('is told to who comes late, if it has started', () => {
  const { begin, outputs } = running()
  begin()
  const late: string[] = []
  outputs.watch((_, what) => late.push(what))
  expect(late).toEqual(['started'])
})
