import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import type { SessionContext } from '../../src/commands/context.ts'
import { holdEnd } from '../../src/commands/sessions/heldEnd.ts'
import type { Frame, FrameSink, TrackInfo } from '../../src/media/frame.ts'
import { Hub } from '../../src/media/hub.ts'
import { type ActiveSession, SessionRegistry } from '../../src/media/sessionRegistry.ts'

const session = { accountId: 'acc', streamName: 'show', sourceId: null }
const layer = (name: string, width: number): TrackInfo => ({
  kind: 'video',
  codec: 'h264',
  width,
  height: width,
  config: Uint8Array.of(1),
  layer: name,
})
const key = (name: string): Frame => ({
  kind: 'video',
  key: true,
  timeUs: 0,
  decodeTimeUs: 0,
  data: new Uint8Array(1),
  layer: name,
})

class Listener implements FrameSink {
  readonly layers: (string | undefined)[] = []
  ends = 0
  tracks(): void {}
  frame(frame: Frame): void {
    this.layers.push(frame.layer)
  }
  end(): void {
    this.ends++
  }
}

test('a pause of the process ended a feed whose publisher moves; one that does not come back ends it after ten seconds', async () => {
  const hub = new Hub()
  const clock = new ManualClock()
  const ctx = { sessions: new SessionRegistry(), clock } as unknown as SessionContext
  const listener = new Listener()
  holdEnd(ctx, { session, ending: { reason: 'moved' } } as unknown as ActiveSession, hub).subscribe(listener)
  hub.end()
  const ends: number[] = []
  for (const ms of [60_000, ...Array.from({ length: 10 }, () => 1000)]) {
    clock.advance(ms)
    await new Promise((resolve) => setImmediate(resolve))
    ends.push(listener.ends)
  }
  expect(ends).toEqual([...Array.from({ length: 10 }, () => 0), 1])
})

test.each([
  { state: { ending: null, standing: { isAskedToMove: true } }, ends: 0 },
  { state: { ending: null, standing: { isAskedToMove: false } }, ends: 1 },
  { state: { ending: { reason: 'kicked' }, standing: { isAskedToMove: true } }, ends: 1 },
])('a feed waits for a publisher that was asked to move and has closed its connection: $state', ({ state, ends }) => {
  const hub = new Hub()
  const ctx = { sessions: new SessionRegistry(), clock: new ManualClock() } as unknown as SessionContext
  const listener = new Listener()
  holdEnd(ctx, { session, ...state } as unknown as ActiveSession, hub).subscribe(listener)
  hub.end()
  expect(listener.ends).toBe(ends)
})

test('what holds the end of a feed passes on each layer to those who take them, and the end where nothing follows', () => {
  const hub = new Hub()
  const ctx = { sessions: new SessionRegistry(), clock: new ManualClock() } as unknown as SessionContext
  const held = holdEnd(ctx, { session, ending: null } as unknown as ActiveSession, hub)
  const [all, main] = [Object.assign(new Listener(), { takesLayers: true as const }), new Listener()]
  held.subscribe(all)
  held.subscribe(main)
  hub.tracks([layer('0', 640), layer('1', 320)])
  for (const name of ['0', '1']) hub.frame(key(name))
  hub.end()
  expect(all).toMatchObject({ layers: ['0', '1'], ends: 1 })
  expect(main).toMatchObject({ layers: [undefined], ends: 1 })
})
