import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import type { SessionContext } from '../../src/commands/context.ts'
import { endFollowed, endHeld, holdEnd, returnsWithinMs } from '../../src/commands/sessions/heldEnd.ts'
import type { Frame, FrameSink, TrackInfo } from '../../src/media/frame.ts'
import type { RemoteFeedRef } from '../../src/media/feedsOnAir.ts'
import { Hub } from '../../src/media/hub.ts'
import { type ActiveSession, SessionRegistry } from '../../src/media/sessionRegistry.ts'

const session = { id: 'main', accountId: 'acc', streamName: 'show', sourceId: null }
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

const said = (mediaEnd: string | null) => ({ isAskedToMove: false, mediaEnd })

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

test.each([
  { of: { ending: { reason: 'moved' } }, seconds: 10 },
  { of: { ending: null, standing: { mediaEnd: 'lost' } }, seconds: 5 },
])(
  'a pause of the process does not count for a publisher that may come back; the feed of one that does not ends: $of',
  async ({ of, seconds }) => {
    const hub = new Hub()
    const clock = new ManualClock()
    const ctx = { sessions: new SessionRegistry(), clock } as unknown as SessionContext
    const listener = new Listener()
    holdEnd(ctx, { session, ...of } as unknown as ActiveSession, hub).subscribe(listener)
    hub.end()
    const ends: number[] = []
    for (const ms of [60_000, ...Array.from({ length: seconds }, () => 1000)]) {
      clock.advance(ms)
      await new Promise((resolve) => setImmediate(resolve))
      ends.push(listener.ends)
    }
    expect(ends).toEqual([...Array.from({ length: seconds }, () => 0), 1])
  },
)

const SECONDS = 1000

/** The feed of a publisher that is gone without a goodbye, and its node, which looks after it. */
function lost(silentMs: number, lookEveryMs: number, spares: readonly ActiveSession[] = []) {
  const hub = new Hub()
  const clock = new ManualClock()
  const sessions = new SessionRegistry(clock.monotonic())
  for (const spare of spares) sessions.spares.add(spare)
  const ctx = { sessions, clock } as unknown as SessionContext
  const listener = new Listener()
  holdEnd(ctx, { session, standing: said('lost'), ending: null } as unknown as ActiveSession, hub).subscribe(listener)
  const pass = (ms: number): void => {
    for (let passedMs = 0; passedMs < ms; passedMs += lookEveryMs) {
      clock.advance(lookEveryMs)
      sessions.looks.look(clock.monotonic())
    }
  }
  pass(20 * SECONDS)
  hub.tracks([layer('0', 640)])
  hub.frame(key('0'))
  pass(silentMs)
  hub.end()
  return { ctx, clock, listener }
}

test.each([
  ['was silent for longer than it is waited for', 5 * SECONDS, 100, 0],
  ['was silent before', 3 * SECONDS, 100, 2],
  ['has sent until the end', 0, 100, 5],
  ['stood still with this process', 60 * SECONDS, 60 * SECONDS, 5],
])(
  'the feed of a publisher that %s ends five seconds after its last media',
  async (_, silentMs, lookEveryMs, seconds) => {
    const { clock, listener } = lost(silentMs, lookEveryMs)
    const ends = [listener.ends]
    for (let second = 0; second < seconds; second++) {
      clock.advance(SECONDS)
      await new Promise((resolve) => setImmediate(resolve))
      ends.push(listener.ends)
    }
    expect(ends).toEqual([...Array.from({ length: seconds }, () => 0), 1])
  },
)

test('a goodbye that comes late ends the feed at once, and not where a spare follows', () => {
  const spare = { session: { ...session, id: 'spare' } } as unknown as ActiveSession
  const ends = [[], [spare]].map((spares) => {
    const { ctx, listener } = lost(0, 100, spares)
    const before = listener.ends
    endHeld(ctx, session.id)
    return [before, listener.ends]
  })
  expect(ends).toEqual([
    [0, 1],
    [0, 0],
  ])
})

test('the feed of a publisher that is gone ends at once when its source is on the air at another node, with a spare too', () => {
  const spare = { session: { ...session, id: 'spare' } } as unknown as ActiveSession
  for (const spares of [[], [spare]]) {
    const { ctx, listener } = lost(0, 100, spares)
    const remote = { ...session, node: 'other', url: 'https://other.example.com' } as unknown as RemoteFeedRef
    const ends = [{ ...remote, sourceId: 'another' }, remote].map((feed) => {
      ctx.sessions.feeds.setRemote([feed], true)
      endFollowed(ctx)
      return listener.ends
    })
    expect([ends, ctx.sessions.heldEnds.size]).toEqual([[0, 1], 0])
  }
})

const moving = { isAskedToMove: true, mediaEnd: 'left' }

test.each([
  ['was asked to move, and has closed its connection', null, moving, 0],
  ['was asked to move, and was ended', 'kicked', moving, 1],
  ['closed its connection without a goodbye', null, said('lost'), 0],
  ['over WebRTC closed its connection without a DELETE', null, said(null), 0],
  ['over WebRTC sent a DELETE', 'left', said(null), 1],
  ['said goodbye', null, said('left'), 1],
  ['sent what cannot be served', null, said('invalid_media'), 1],
  ['is gone because its node was given up', 'lost', said('lost'), 0],
  ['is to connect again, because its token got another priority', 'reprioritized', said('lost'), 0],
  ['was replaced, by one that its node has not put on the air yet', 'replaced', said('lost'), 0],
  ['was ended through the API', 'kicked', said('lost'), 1],
  ['lost its token', 'token_deleted', said('lost'), 1],
  ['was stopped with its server', null, said('shutdown'), 1],
])('the feed of a publisher that %s waits for it, or ends', (_, reason, standing, ends) => {
  const hub = new Hub()
  const ctx = { sessions: new SessionRegistry(), clock: new ManualClock() } as unknown as SessionContext
  const listener = new Listener()
  const ending = reason === null ? null : { reason }
  holdEnd(ctx, { session, standing, ending } as unknown as ActiveSession, hub).subscribe(listener)
  hub.end()
  expect(listener.ends).toBe(ends)
})

test('what holds the end of a feed passes on each layer to those who take them, and the end where nothing follows', () => {
  const hub = new Hub()
  const ctx = { sessions: new SessionRegistry(), clock: new ManualClock() } as unknown as SessionContext
  const held = holdEnd(ctx, { session, ending: { reason: 'left' } } as unknown as ActiveSession, hub)
  const [all, main] = [Object.assign(new Listener(), { takesLayers: true as const }), new Listener()]
  held.subscribe(all)
  held.subscribe(main)
  hub.tracks([layer('0', 640), layer('1', 320)])
  for (const name of ['0', '1']) hub.frame(key(name))
  hub.end()
  expect(all).toMatchObject({ layers: ['0', '1'], ends: 1 })
  expect(main).toMatchObject({ layers: [undefined], ends: 1 })
})

test.each([
  ['here', 'left', false, 0],
  ['here', 'left', true, 5000],
  ['there', 'left', false, 2000],
  ['there', 'lost', false, 5000],
  ['here', 'deleted', true, 0],
])(
  'a publisher at the node %s that has %s (it may say goodbye: %s) is back within %i ms',
  async (node, reason, may, ms) => {
    const clock = new ManualClock()
    const last = { sessionId: session.id, node, reason, atMs: clock.now() }
    const store = { read: { feeds: { lastEnd: async () => last } } }
    const sessions = Object.assign(new SessionRegistry(), { node: 'here' })
    const ctx = { sessions, clock, store } as unknown as SessionContext
    expect(await returnsWithinMs(ctx, session, () => may)).toBe(ms)
  },
)
