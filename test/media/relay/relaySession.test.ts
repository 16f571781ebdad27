import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { LateLooks } from '../../../src/base/lateLooks.ts'
import type { Publisher } from '../../../src/media/relay/inbound/publisher.ts'
import { negotiatePublish } from '../../../src/media/relay/negotiation.ts'
import type { Viewer } from '../../../src/media/relay/outbound/viewer.ts'
import { RelaySession, type Role } from '../../../src/media/relay/relaySession.ts'
import type { WebRtcTransport } from '../../../src/media/relay/transport/webRtcTransport.ts'

/** No look was late. */
const IN_TIME = { lastedMs: (sinceMs: number, nowMs: number) => nowMs - sinceMs }

const START_MS = 1_750_000_000_000
const agreed = negotiatePublish(
  readFileSync(new URL('wire/offers/browser-publish.sdp', import.meta.url), 'utf8'),
  'vp8',
)

/** A session, the state of its transport, and what is called in turn. */
function session(kind: 'publisher' | 'viewer', accepted = [true, true]) {
  if (!agreed.ok) throw new Error(agreed.error.problem)
  const calls: string[] = []
  const note = (name: string) => (nowMs: number) => void calls.push(`${name} ${nowMs}`)
  const transport = { isConnected: true, seenAtMs: START_MS, mediaAtMs: START_MS, bytesIn: 0, bytesOut: 0 }
  const publisher = { pace: note('publisher.pace'), frames: 7, reading: () => ({ width: 640 }) } as unknown as Publisher
  const viewer = { pace: note('viewer.pace'), tick: note('viewer.tick') } as unknown as Viewer
  const role: Role = kind === 'publisher' ? { publisher } : { viewer }
  const { offer, answers } = agreed.value
  const made = new RelaySession(
    {
      id: 's',
      room: 'a/show',
      transport: Object.assign(transport, { tick: note('transport.tick') }) as unknown as WebRtcTransport,
      role,
      offer,
      answers: answers.map((answer, at) => (accepted[at] === true ? answer : null)),
      publisherTimeoutMs: 15_000,
    },
    START_MS,
  )
  return { made, transport, calls, offer }
}

test('a session that is not connected ten seconds after its answer never will be', () => {
  const { made, transport } = session('viewer')
  transport.isConnected = false
  expect(made.timedOut(START_MS + 60_000, IN_TIME)).toBeNull()
  expect(made.timedOut(START_MS + 60_001, IN_TIME)).toBe('never_connected')
  made.answered(START_MS)
  made.answered(START_MS + 5000)
  expect([made.timedOut(START_MS + 10_000, IN_TIME), made.timedOut(START_MS + 10_001, IN_TIME)]).toEqual([
    null,
    'never_connected',
  ])
})

test.each([
  ['publisher', 15_000],
  ['viewer', 30_000],
] as const)('a %s is lost after %i ms of silence', (kind, silentMs) => {
  const { made, transport } = session(kind)
  transport.seenAtMs = START_MS + 60_000
  const at = transport.seenAtMs + silentMs
  expect([made.timedOut(at, IN_TIME), made.timedOut(at + 1, IN_TIME)]).toEqual([null, 'lost'])
})

test('pauses of the process end no session, and keep none that is dead', () => {
  const { made, transport } = session('publisher')
  transport.seenAtMs = START_MS
  const looks = new LateLooks(250, START_MS)
  const reasons: ReturnType<typeof made.timedOut>[] = []
  // It stands still for a second and a half again and again, and runs for two seconds in between.
  for (let at = START_MS, round = 0; round < 8; round += 1) {
    for (let looked = 0; looked < 8; looked += 1) looks.look((at += 250))
    looks.look((at += 1500))
    reasons.push(made.timedOut(at, looks))
  }
  expect(reasons).toEqual([null, null, null, null, null, null, null, 'lost'])
})

test('bytes are reported when there are more, with the silence and the frames of a publisher', () => {
  const { made, transport } = session('publisher')
  expect(made.reportBytes(START_MS)).toBeNull()
  transport.bytesIn = 5
  const totals = { kind: 'bytes', sessionId: 's' }
  const report = { ...totals, bytesIn: 5, bytesOut: 0, silentMs: 40, frames: 7, source: { width: 640 } }
  expect([made.reportBytes(START_MS + 40), made.reportBytes(START_MS + 80)]).toEqual([report, null])
  transport.bytesOut = 3
  expect(made.reportBytes(START_MS + 40)).toEqual({ ...report, bytesOut: 3 })
  const viewer = session('viewer')
  viewer.transport.bytesOut = 9
  expect(viewer.made.reportBytes(START_MS + 40)).toEqual({ ...totals, bytesIn: 0, bytesOut: 9, silentMs: 0 })
})

test('its bundle is named by the first m-line that was accepted', () => {
  const [both, second] = [session('publisher'), session('publisher', [false, true])]
  expect([both.made.bundleLine, second.made.bundleLine]).toEqual([
    { mid: '0', kind: 'audio' },
    { mid: '1', kind: 'video' },
  ])
  expect(both.made.etag).toBe(both.offer.iceUfrag)
})

test('only the part that a session has is driven', () => {
  const [publisher, viewer] = [session('publisher'), session('viewer')]
  for (const { made } of [publisher, viewer]) {
    made.pace(1)
    made.tick(2)
  }
  expect([publisher.calls, viewer.calls]).toEqual([
    ['publisher.pace 1', 'transport.tick 2'],
    ['viewer.pace 1', 'viewer.tick 2', 'transport.tick 2'],
  ])
})
