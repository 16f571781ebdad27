import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { AudioLateness, EvenAudio } from '../../../src/media/convert/evenAudio.ts'
import { InStep } from '../../../src/media/convert/inStep.ts'
import type { Frame } from '../../../src/media/frame.ts'

const FRAME_MS = 20
const frameAt = (kind: Frame['kind'], ms: number): Frame => {
  const timeUs = ms * 1000
  return { kind, timeUs, decodeTimeUs: timeUs, key: true, data: new Uint8Array() }
}

function listening() {
  const clock = new ManualClock(0)
  const passed: { readonly at: number; readonly ms: number }[] = []
  const source = new AudioLateness(clock)
  const even = new EvenAudio(clock, source, ({ timeUs }) => passed.push({ at: clock.monotonic(), ms: timeUs / 1000 }))
  const frame = (ms: number) => {
    source.note(frameAt('audio', ms))
    even.frame(frameAt('audio', ms))
  }
  const wait = async (ms: number) => {
    for (let left = ms; left > 0; left -= 10) {
      clock.advance(10)
      await turn()
    }
  }
  /** A packet with the audio from a time on, which comes when its last frame ends. */
  const packet = async (fromMs: number, ms: number, take = frame) => {
    await wait(fromMs + ms - clock.monotonic())
    for (let at = 0; at < ms; at += FRAME_MS) take(fromMs + at)
  }
  return { clock, source, even, passed, frame, wait, packet }
}

test('audio of large packets passes at the pace of its times, a frame later than the first one of a packet comes', async () => {
  const { passed, packet, wait, source } = listening()
  for (let at = 0; at < 3200; at += 320) await packet(at, 320)
  await wait(340)
  expect(source.burstMs).toBe(300)
  expect(passed.map(({ ms }) => ms)).toEqual(Array.from({ length: 160 }, (_, at) => at * FRAME_MS))
  // The first packet shows that it is one, after some frames.
  expect(passed.slice(16).every(({ at, ms }) => at - ms === 340)).toBe(true)
})

test('the first packets of a conversion, which come late and at once, pass at the pace of those after them, in step with video', async () => {
  const { clock, source, packet, wait } = listening()
  const passed: { readonly kind: Frame['kind']; readonly late: number; readonly ms: number }[] = []
  const step = new InStep(
    clock,
    ({ kind, timeUs }) => passed.push({ kind, late: clock.monotonic() - timeUs / 1000, ms: timeUs / 1000 }),
    { burstMs: () => source.burstMs },
  )
  const even = new EvenAudio(clock, source, (frame) => step.audio(frame))
  const converted: number[] = []
  let videoMs = 0
  for (let at = 0; at < 3200; at += 320) {
    for (let left = 320; left > 0; left -= 40) {
      await wait(40)
      step.video(frameAt('video', (videoMs += 40)))
    }
    await packet(at, 320, (ms) => {
      source.note(frameAt('audio', ms))
      converted.push(ms)
    })
    // The process starts for as long as the second packet takes.
    if (at > 0) for (const ms of converted.splice(0)) even.frame(frameAt('audio', ms))
  }
  const late = (kind: Frame['kind']) =>
    new Set(passed.filter((one) => one.kind === kind && one.ms > 640).map(({ late }) => late))
  expect([...late('audio')]).toEqual([340])
  for (const ms of late('video')) expect(Math.abs(ms - 340)).toBeLessThanOrEqual(40)
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
