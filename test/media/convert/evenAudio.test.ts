import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { EvenAudio } from '../../../src/media/convert/evenAudio.ts'

const FRAME_MS = 20

function listening() {
  const clock = new ManualClock(0)
  const passed: { readonly at: number; readonly ms: number }[] = []
  const even = new EvenAudio(clock, ({ timeUs }) => passed.push({ at: clock.monotonic(), ms: timeUs / 1000 }))
  const frame = (ms: number) =>
    even.frame({ kind: 'audio', timeUs: ms * 1000, decodeTimeUs: ms * 1000, key: true, data: new Uint8Array() })
  const wait = async (ms: number) => {
    for (let left = ms; left > 0; left -= 10) {
      clock.advance(10)
      await turn()
    }
  }
  /** A packet with the audio from a time on, which comes when its last frame ends. */
  const packet = async (fromMs: number, ms: number) => {
    await wait(fromMs + ms - clock.monotonic())
    for (let at = 0; at < ms; at += FRAME_MS) frame(fromMs + at)
  }
  return { clock, even, passed, frame, wait, packet }
}

test('audio of large packets passes at the pace of its times, as late as the first frame of a packet', async () => {
  const { passed, packet, wait, even } = listening()
  for (let at = 0; at < 3200; at += 320) await packet(at, 320)
  await wait(320)
  expect(passed.map(({ ms }) => ms)).toEqual(Array.from({ length: 160 }, (_, at) => at * FRAME_MS))
  // The first packet shows that it is one, after some frames.
  expect(passed.slice(16).every(({ at, ms }) => at - ms === 320)).toBe(true)
  expect(even.burstMs).toBe(300)
})

test('audio that comes as it is made passes at once, and so does what comes late after a pause of the network', async () => {
  const { passed, frame, wait, clock } = listening()
  const send = async (until: number) => {
    for (let at = clock.monotonic(); at < until; at += FRAME_MS) {
      await wait(FRAME_MS)
      frame(at)
    }
  }
  await send(2000)
  await wait(300)
  for (let at = 2000; at < 2300; at += FRAME_MS) frame(at)
  await send(6000)
  expect(passed.filter(({ at, ms }) => at - ms !== FRAME_MS).map(({ at }) => at)).toEqual(Array(14).fill(2300))
})

test('a jump of its times holds up nothing, and a stop passes what waits', async () => {
  const { passed, packet, frame, even, clock, wait } = listening()
  for (let at = 0; at < 3200; at += 320) await packet(at, 320)
  const waiting = passed.length
  frame(60_000)
  expect(passed.at(-1)?.ms).toBe(60_000)
  expect(passed.length).toBeGreaterThan(waiting)
  frame(60_020)
  await wait(1000)
  for (let at = clock.monotonic(); at < 8000; at += 320) await packet(at, 320)
  const before = passed.length
  even.stop()
  expect(passed.length).toBeGreaterThan(before)
  frame(90_000)
  expect(passed.at(-1)?.ms).toBe(90_000)
})
