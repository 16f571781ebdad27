import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { EncodingLoad } from '../../src/services/encodingLoad.ts'
import { Viewers } from '../../src/services/viewers.ts'
import { defaultLadder } from '../../src/core/channels/ladder.ts'
import { HANG_TEXT } from '../../src/core/channels/runs/hang.ts'
import { noticeText } from '../../src/core/notices.ts'
import type { LoadControl } from '../../src/core/channels/runs/load.ts'

const LADDER = defaultLadder('abc123')
const full = { width: 1920, height: 1080, bitrate: 6_000_000, frameRate: { value: 60, scale: 1 } }
const HEAVY = { video: ['a', 'b', 'c'].map((id) => ({ ...full, id, label: id })), audioKbps: null, audioOnly: false }

function machine({ cores = 4, idle = null as number | null, stepsDown = true } = {}) {
  const processors = { idle }
  return { processors, load: new EncodingLoad({ cores, processors, stepsDown: () => stepsDown }) }
}

/** Feeds samples of a process for some seconds: its speed, and the processors that it uses. */
function run(control: LoadControl, seconds: number, { speed = 1, cores = 0.5, fps = 30 } = {}) {
  control.begun()
  for (const { index } of control.rungs) control.counted(index, fps)
  return Array.from({ length: seconds }, (_, at) => {
    const media = {
      dueMs: at * 1000,
      leadMs: at * 1000,
      outMs: at * 1000 * speed,
      droppedFrames: at > 5 && speed < 1 ? 7 : 0,
      droppedMs: 0,
    }
    return control.look({ atMs: at * 1000, ...media, cpuMs: at * 1000 * cores, isReadyToRun: false })
  })
}

test('a ladder that may not copy is encoded as a whole again, also after renditions were left out', () => {
  const [top, ...others] = LADDER.video
  const ladder = { ...LADDER, video: top ? [{ ...top, copy: true as const }, ...others] : [] }
  const control = machine().load.control({ engineId: 'en_1', ladder })
  expect(control.rungs.map(({ copy }) => copy)).toEqual([true, undefined])
  run(control, 30, { speed: 0.5 })
  expect(control.rungs.map(({ label }) => label)).toEqual(['720p'])
  control.copies(false)
  expect(control.rungs.map(({ label, copy }) => [label, copy])).toEqual([
    ['720p', undefined],
    ['360p', undefined],
  ])
})

describe('before a start', () => {
  test('checks whether the machine can also encode these engines, beside the running ones', () => {
    const { load } = machine({ cores: 2 })
    const some = (count: number) => Array.from({ length: count }, (_, at) => ({ engineId: `en_${at}`, ladder: LADDER }))
    expect(load.warningFor([])).toBeNull()
    expect(load.warningFor(some(4))).toBeNull()
    expect(load.warningFor(some(5))).toMatch(
      /^This machine may not keep up.*it needs about 2\.2 processors, and engines that run need about 0 of 2/,
    )
  })

  test('checks whether there is room to encode for viewers, beside engines and what is encoded for others', () => {
    const { load } = machine({ cores: 1 })
    const hd = { width: 1280, height: 720 }
    const unknown = { width: 0, height: 0 }
    const free = [load.reserve(hd), load.reserve(unknown)]
    expect([load.hasRoomFor(hd), load.hasRoomFor({ width: 320, height: 180 })]).toEqual([false, true])
    expect(load.warningFor([{ engineId: 'en_1', ladder: LADDER }])).toMatch('need about 0.7 of 1')
    free[1]?.()
    expect(load.hasRoomFor(hd)).toBe(true)
    load.control({ engineId: 'en_1', ladder: LADDER })
    expect(load.hasRoomFor(hd)).toBe(false)
  })

  test('counts running engines by measurement or estimate, and the requested ones once', () => {
    const { load } = machine({ cores: 2 })
    const [one, other] = [
      load.control({ engineId: 'en_1', ladder: LADDER }),
      load.control({ engineId: 'en_2', ladder: HEAVY }),
    ]
    expect(load.warningFor([{ engineId: 'en_2', ladder: HEAVY }])).toMatch(/need about 0\.4 of 2/)
    other.ended()
    expect(load.warningFor([{ engineId: 'en_3', ladder: LADDER }])).toBeNull()
    run(one, 11, { cores: 1.9 })
    expect(load.warningFor([{ engineId: 'en_3', ladder: LADDER }])).toMatch(/need about 1\.9 of 2/)
    one.over()
    expect(load.warningFor([{ engineId: 'en_3', ladder: LADDER }])).toBeNull()
  })

  test('learns the cost per pixel from running engines, within bounds', () => {
    const needed = (load: EncodingLoad): number =>
      Number(/needs about ([0-9.]+) processors/.exec(load.warningFor([{ engineId: 'en_9', ladder: HEAVY }]) ?? '')?.[1])
    const [fast, slow, odd] = [machine(), machine(), machine()].map(({ load }) => load)
    if (!fast || !slow || !odd) throw new Error('no machine')
    expect(needed(slow)).toBeCloseTo(4.7)
    run(slow.control({ engineId: 'en_1', ladder: LADDER }), 200, { cores: 0.864 })
    expect(needed(slow)).toBeCloseTo(9.3)
    run(fast.control({ engineId: 'en_1', ladder: LADDER }), 200, { cores: 0.01 })
    expect(fast.warningFor([{ engineId: 'en_9', ladder: HEAVY }])).toBeNull()
    run(odd.control({ engineId: 'en_1', ladder: LADDER }), 400, { cores: 1000 })
    expect(needed(odd)).toBeCloseTo(37.3)
  })
})

describe('an engine', () => {
  test('that cannot keep up is reported once, with the rungs that it drops, and counts its lost frames', () => {
    const { load } = machine()
    const control = load.control({ engineId: 'en_1', ladder: LADDER })
    const verdicts = run(control, 11, { speed: 0.5 })
    expect(verdicts.filter(({ log }) => log !== null)).toEqual([
      {
        restart: true,
        isHung: false,
        log: { level: 'warn', message: expect.stringMatching(/cannot keep up.*7 frames\. To keep up.*720p/) },
      },
    ])
    expect(load.droppedFrames).toBe(7)
    expect(noticeText(control.notice)).toMatch(/^To keep up, this engine leaves out 720p/)
    expect(load.paceOf('en_1')).toMatchObject({ leftOut: ['720p'], droppedFrames: 7 })
    control.over()
    expect([load.paceOf('en_1'), load.paces()]).toEqual([null, []])
    expect(run(control, 30).every(({ log }) => log === null)).toBe(true)
    expect(load.droppedFrames).toBe(7)
  })

  test('that may not drop rungs is reported as slow until it keeps up again', () => {
    const { load } = machine({ stepsDown: false })
    const control = load.control({ engineId: 'en_1', ladder: LADDER })
    expect(
      run(control, 11, { speed: 0.5 })
        .map(({ log }) => log?.level)
        .filter(Boolean),
    ).toEqual(['warn'])
    expect(noticeText(control.notice)).toMatch(/^The machine cannot keep up/)
    const after = { dueMs: 0, leadMs: 0, outMs: 0, droppedFrames: 7, droppedMs: 0, cpuMs: 0, isReadyToRun: false }
    const logs = Array.from({ length: 40 }, (_, at) => {
      const mediaMs = 20_000 + at * 1000
      return control.look({ ...after, atMs: 11_000 + at * 1000, dueMs: mediaMs, outMs: mediaMs }).log
    })
    expect(logs.filter((log) => log !== null)).toEqual([{ level: 'info', message: 'The engine keeps up again' }])
    expect(control.notice).toEqual([])
  })

  test('whose process hangs keeps its ladder, though it makes nothing and loses frames', () => {
    const { load } = machine()
    const control = load.control({ engineId: 'en_1', ladder: LADDER })
    run(control, 20)
    const verdicts = [1, 2, 3, 4].map((second) => {
      const atMs = (19 + second) * 1000
      const input = { dueMs: atMs, leadMs: atMs, droppedFrames: second * 25, droppedMs: 0 }
      return control.look({ ...input, atMs, outMs: 19_000, cpuMs: 9500, isReadyToRun: false })
    })
    expect(verdicts.map(({ isHung }) => isHung)).toEqual([false, false, true, true])
    expect(verdicts[2]).toEqual({ isHung: true, restart: false, log: { level: 'warn', message: HANG_TEXT } })
    expect([control.notice, control.rungs.length]).toEqual([[], LADDER.video.length])
    control.over()
    expect(run(control, 20).every(({ restart, isHung }) => !restart && !isHung)).toBe(true)
  })

  test('restores its whole ladder when processors are idle, and no two engines do so in the same minute', () => {
    const { load, processors } = machine({ idle: 0.2 })
    const both = ['en_1', 'en_2'].map((engineId) => load.control({ engineId, ladder: LADDER }))
    for (const control of both) run(control, 11, { speed: 0.5 })
    const restarts = (): boolean[] =>
      both.map((control) => run(control, 640, { cores: 0.1 }).some(({ restart }) => restart))
    expect(restarts()).toEqual([false, false])
    processors.idle = 3
    expect(restarts()).toEqual([true, false])
    expect(both[0]?.notice).toEqual([])
  })
})

test('viewers are counted by the media that they took in the last complete half minute', () => {
  const clock = new ManualClock()
  const viewers = new Viewers({ clock })
  for (let second = 0; second < 40; second += 2) {
    for (const id of ['di_1', 'di_1', 'di_1', 'di_2']) viewers.took(id, 2000)
    clock.advance(2000)
  }
  expect([viewers.of('di_1'), viewers.of('di_2'), viewers.of('di_3'), viewers.total]).toEqual([3, 1, 0, 4])
  viewers.took('di_3', 0)
  clock.advance(15_000)
  expect([viewers.of('di_1'), viewers.total]).toEqual([1, 2])
  clock.advance(3_600_000)
  expect(viewers.total).toBe(0)
})
