import { availableParallelism } from 'node:os'
import { expect, test } from 'vitest'
import type { MediaEngineEvent, Negotiated } from '../../../src/media/engine.ts'
import type { FrameSink, RestingSource, TrackInfo } from '../../../src/media/frame.ts'
import { createRelayEngine } from '../../../src/media/relay/processes/engine.ts'
import type { RelayProcess } from '../../../src/media/relay/processes/processPool.ts'
import type { ToRelay } from '../../../src/media/relay/processes/messages.ts'
import type { WorkerOptions } from '../../../src/media/relay/processes/worker.ts'
import { silentLog } from '../../support/log.ts'

const VIDEO: TrackInfo = { kind: 'video', codec: 'vp8', width: 640, height: 360, config: new Uint8Array(0) }
const KEY = { kind: 'video', key: true, timeUs: 0, decodeTimeUs: 0, data: Buffer.alloc(1) } as const
const FRAME = { ...KEY, key: false }
const START_MS = 5000
const PAUSE_MS = 1000
const again = { ok: false, status: 503, problem: 'The media server is starting again; come back in a moment.' }
const busy = { ok: false, status: 503, problem: 'The media server is too busy to answer; come back in a moment.' }

/** A process that does what the test says. */
class ScriptedProcess implements RelayProcess {
  readonly calls: string[] = []
  /** Without those that say that an offer was answered. */
  readonly posted: ToRelay[] = []
  readonly answered: string[] = []
  isStopped = false
  linkPort = 1
  answer: unknown = { ok: true, answer: 'sdp', etag: 'e' }
  ready = Promise.resolve(true)
  readonly options: WorkerOptions

  constructor(options: WorkerOptions) {
    this.options = options
  }

  call: RelayProcess['call'] = async (method, takes) => {
    this.calls.push(
      `${method} ${'sessionIds' in takes ? takes.sessionIds.join() : 'room' in takes && !('sessionId' in takes) ? takes.room : takes.sessionId}`,
    )
    return this.answer as undefined
  }

  post: RelayProcess['post'] = (message, sent) => {
    if (message.kind === 'answered') this.answered.push(message.sessionId)
    else this.posted.push(message)
    sent?.()
  }

  async stop(): Promise<void> {
    this.isStopped = true
  }
}

function engineWith({ processes = 2, udpPort = 0, maxViewers = Number.POSITIVE_INFINITY, log = silentLog } = {}) {
  const started: ScriptedProcess[] = []
  const clock = { nowMs: START_MS }
  const base = { host: '', publicAddresses: [], maxBitrate: 1, maxSessions: 9, publisherSilentMs: 1 }
  const engine = createRelayEngine({
    log,
    now: () => clock.nowMs,
    maxViewers,
    config: { ...base, processes, udpPort },
    startProcess: (options) => {
      const made = new ScriptedProcess(options)
      started.push(made)
      return made
    },
  })
  const events: MediaEngineEvent[] = []
  engine.watch((event) => events.push(event))
  const publish = (sessionId: string, room: string): Promise<Negotiated> =>
    engine.publish({ sessionId, room, sourceId: null, offer: '', codec: null })
  const ended = (at: number, sessionId: string) =>
    started[at]?.options.received({ kind: 'events', events: [{ kind: 'ended', sessionId, reason: 'left' }] })
  return { engine, started, clock, events, publish, ended }
}

/** Frames of another protocol, and what the engine has of them. */
function restingSource() {
  const nobody: (tracks: readonly TrackInfo[]) => void = () => undefined
  const state = { announce: 0, subscriptions: 0, announceTo: nobody }
  const source: RestingSource = {
    announce(listener) {
      state.announce += 1
      state.announceTo = listener
      listener([VIDEO])
      return () => void (state.announce -= 1)
    },
    subscribe(sink: FrameSink) {
      state.subscriptions += 1
      sink.tracks([VIDEO])
      return () => void (state.subscriptions -= 1)
    },
  }
  return { source, state }
}

test('a process is started for the room that needs it, and a room goes to the one with the fewest sessions', async () => {
  const { engine, started, publish, ended } = engineWith({ udpPort: 4000 })
  await engine.start()
  expect(started).toEqual([])
  for (const [id, room] of [
    ['a1', 'a'],
    ['a2', 'a'],
    ['b1', 'b'],
    ['a3', 'a'],
    ['c1', 'c'],
    ['d1', 'd'],
  ] as const)
    await publish(id, room)
  expect(started.map(({ calls }) => calls)).toEqual([
    ['publish a1', 'publish a2', 'publish a3'],
    ['publish b1', 'publish c1', 'publish d1'],
  ])
  expect(started.map(({ options }) => options.settings)).toMatchObject([
    { port: 4000, host: '', maxSessions: 9 },
    { port: 4001 },
  ])
  for (const id of ['b1', 'c1', 'd1']) ended(1, id)
  await publish('e1', 'e')
  expect(started[1]?.calls.at(-1)).toBe('publish e1')
  const free = engineWith()
  for (const room of ['a', 'b']) await free.publish(room, room)
  expect(free.started.map(({ options }) => options.settings.port)).toEqual([0, 0])
})

test('without a number there is one process fewer than cores, and at least one', async () => {
  const { publish, started } = engineWith({ processes: 0 })
  for (const room of ['a', 'b', 'c', 'd']) await publish(room, room)
  expect(started).toHaveLength(Math.min(4, Math.max(1, availableParallelism() - 1)))
})

test('an offer that a busy process does not answer in time is refused as that, and ended there when it is read', async () => {
  const { engine, started, publish } = engineWith()
  await publish('a1', 'a')
  const [first] = started
  if (first) first.answer = undefined
  expect(await publish('a2', 'a')).toEqual(busy)
  expect(await engine.view({ sessionId: 'v1', room: 'a', sourceId: null, offer: '' })).toEqual(busy)
  expect(first?.calls).toEqual(['publish a1', 'publish a2', 'end a2', 'view v1', 'end v1'])
  if (first) first.ready = Promise.resolve(false)
  expect(await publish('a3', 'a')).toEqual(again)
  expect(first?.calls.at(-1)).toBe('publish a3')
})

test('a session that is refused or gets no answer is not there', async () => {
  const { engine, started, publish } = engineWith()
  await publish('a1', 'a')
  const [first] = started
  if (first) first.answer = { ok: false, status: 406, problem: 'no' }
  expect(await publish('a2', 'a')).toMatchObject({ status: 406 })
  if (first) first.answer = undefined
  expect(await engine.view({ sessionId: 'a3', room: 'a', sourceId: null, offer: '' })).toEqual(busy)
  first?.calls.splice(0)
  // Of the events of a session only its end ends it.
  first?.options.received({ kind: 'events', events: [{ kind: 'connected', sessionId: 'a1', address: '' }] })
  for (const id of ['a2', 'a3']) {
    expect(await engine.patch(id, '', false)).toEqual({ ok: false, status: 404, problem: 'There is no such session.' })
    await engine.end(id)
  }
  expect([first?.calls, first?.answered]).toEqual([[], ['a1']])
  // A client that is told that its session is over would connect again, and make the process busier.
  expect(await engine.patch('a1', '', false)).toEqual(busy)
  await engine.end('a1')
  expect(first?.calls).toEqual(['patch a1', 'end a1'])
  await Promise.all(['a1', 'a4', 'a1'].map((id) => engine.end(id)))
  expect(first?.calls.slice(2)).toEqual(['end a1,a1'])
})

test('a process that dies takes its sessions with it, and another one is started after a pause', async () => {
  const { engine, started, clock, events, publish } = engineWith()
  await publish('a1', 'a')
  await publish('b1', 'b')
  started[0]?.options.died({ detail: 'exit 1', isHung: false })
  expect(events).toEqual([
    { kind: 'ended', sessionId: 'a1', reason: 'engine_died' },
    { kind: 'waits', process: 0, meanMs: 0, mostMs: 0, late: 0, load: 0 },
    { kind: 'died', process: 0, detail: 'exit 1', isHung: false, sessions: 1 },
  ])
  // A feed does not wait.
  const { source } = restingSource()
  await expect(engine.feed({ sessionId: 'f1', room: 'a', sourceId: null, source })).rejects.toThrow('not there')
  clock.nowMs += PAUSE_MS - 1
  const waiting = publish('a2', 'a')
  await Promise.resolve()
  expect(started).toHaveLength(2)
  clock.nowMs += 1
  expect(await waiting).toMatchObject({ ok: true })
  expect(started.map(({ calls }) => calls)).toEqual([['publish a1'], ['publish b1'], ['publish a2']])
})

test('the viewers of a process that died wait for the next one, and do not go to the home of the room', async () => {
  const { engine, started, clock, publish } = engineWith({ maxViewers: 1 })
  const view = (sessionId: string) => engine.view({ sessionId, room: 'a', sourceId: null, offer: '' })
  await publish('a1', 'a')
  for (const id of ['v1', 'v2']) await view(id)
  started[1]?.options.died({ detail: 'exit 1', isHung: false })
  clock.nowMs += PAUSE_MS - 1
  const waiting = view('v2 again')
  await Promise.resolve()
  clock.nowMs += 1
  expect(await waiting).toMatchObject({ ok: true })
  expect(started.map(({ calls }) => calls.filter((call) => call.startsWith('view')))).toEqual([
    ['view v1'],
    ['view v2'],
    ['view v2 again'],
  ])
})

test('the engine says which process a newcomer would get, and what each process reports', async () => {
  const { engine, started, publish, events, ended } = engineWith()
  expect(engine.processes).toBe(2)
  expect(engine.processFor('a', 'viewer')).toEqual({ process: 0, hasRoom: false })
  await publish('a1', 'a')
  expect(engine.processFor('a', 'source')).toEqual({ process: 0, hasRoom: true })
  expect(engine.processFor('b', 'source')).toEqual({ process: 1, hasRoom: false })
  const waits = { meanMs: 149, mostMs: 900, late: 2 }
  started[0]?.options.received({ kind: 'beat', waits, load: 0.5, feedback: [], links: [], faults: null })
  expect(events.at(-1)).toEqual({ kind: 'waits', process: 0, ...waits, load: 0.5 })
  ended(0, 'a1')
  expect(engine.processFor('a', 'viewer')).toEqual({ process: 0, hasRoom: false })
})

test('a fault in what one event of a media process leads to ended the server, and the events after it were lost', async () => {
  const errors: unknown[] = []
  const log = Object.assign(Object.create(silentLog) as typeof silentLog, {
    error: (fields: unknown) => errors.push(fields),
  })
  const { engine, started, events, publish } = engineWith({ log })
  await publish('a', 'room')
  const fault = new Error('a fault of ours')
  engine.watch(({ kind }) => {
    if (kind === 'ended') throw fault
  })
  const all = ['a', 'b'].map((sessionId) => ({ kind: 'ended', sessionId, reason: 'left' }) as const)
  started[0]?.options.received({ kind: 'events', events: all })
  expect(events).toEqual(all)
  expect(errors).toEqual(all.map(({ kind }) => ({ err: fault, kind })))
})

test('the wait for another process is short, and ends with a refusal while that may not be started', async () => {
  const { started, clock, publish } = engineWith({ processes: 1 })
  await publish('a1', 'a')
  started[0]?.options.died({ detail: 'exit 1', isHung: false })
  clock.nowMs += PAUSE_MS - 2
  expect(await publish('a2', 'a')).toEqual(again)
  expect(started).toHaveLength(1)
})

test('an engine that stops ends each session, then its processes, and reports the death of none', async () => {
  const { engine, started, clock, events, publish, ended } = engineWith()
  await publish('a1', 'a')
  await publish('b1', 'b')
  await engine.stop()
  expect(started.map(({ calls, isStopped }) => [calls.at(-1), isStopped])).toEqual([
    ['end a1', true],
    ['end b1', true],
  ])
  ended(0, 'a1')
  started[0]?.options.died({ detail: 'SIGTERM', isHung: false })
  expect(events).toEqual([{ kind: 'ended', sessionId: 'a1', reason: 'left' }])
  clock.nowMs += PAUSE_MS
  expect(await publish('a2', 'a')).toEqual(again)
  await engine.start()
  started[1]?.options.died({ detail: 'SIGTERM', isHung: false })
  expect(events.at(-1)).toMatchObject({ kind: 'died', detail: 'SIGTERM', sessions: 1 })
})

test('the frames of a publisher are asked for once, for all who want them, and no longer than that', async () => {
  const { engine, started, publish, ended } = engineWith()
  await publish('a1', 'a')
  const [process] = started
  const got: string[] = []
  const sink = (name: string): FrameSink => ({
    tracks: () => got.push(`${name} tracks`),
    frame: () => got.push(`${name} frame`),
    end: () => got.push(`${name} end`),
  })
  const frames = engine.tap('a1')
  const stops = ['one', 'two'].map((name) => frames.subscribe(sink(name)))
  expect(process?.posted).toEqual([{ kind: 'tap', sessionId: 'a1' }])
  process?.options.received({ kind: 'tracks', sessionId: 'a1', tracks: [VIDEO] })
  process?.options.received({ kind: 'frame', sessionId: 'a1', frame: KEY })
  expect(got).toEqual(['one tracks', 'two tracks', 'one frame', 'two frame'])
  for (const stop of [stops[0], stops[0]]) stop?.()
  process?.options.received({ kind: 'frame', sessionId: 'a1', frame: FRAME })
  expect(got.splice(0).at(-1)).toBe('two frame')
  expect(process?.posted).toHaveLength(1)
  stops[1]?.()
  expect(process?.posted.slice(1)).toEqual([{ kind: 'untap', sessionId: 'a1' }])
  const stopLate = frames.subscribe(sink('late'))
  expect(process?.posted.slice(2)).toEqual([{ kind: 'tap', sessionId: 'a1' }])
  process?.options.received({ kind: 'end', sessionId: 'a1' })
  ended(0, 'a1')
  expect(got).toEqual(['late end'])
  stopLate()
  expect(process?.posted).toHaveLength(3)
  engine.tap('a1').subscribe(sink('none'))
  expect(got).toEqual(['late end', 'none end'])
})

test('a feed is announced to its process, and subscribed to while that wants its frames', async () => {
  const { engine, started, ended } = engineWith()
  const { source, state } = restingSource()
  const request = { sessionId: 'f1', room: 'a', sourceId: 's', priority: 3, preferredTo: 'f0' }
  await engine.feed({ ...request, source })
  const [process] = started
  const want = (isWanted: boolean) => process?.options.received({ kind: 'want', sessionId: 'f1', isWanted })
  const kinds = () => process?.posted.splice(0).map(({ kind }) => kind)
  expect(process?.posted[0]).toEqual({ kind: 'feed', ...request })
  expect([kinds(), state.announce, state.subscriptions]).toEqual([['feed', 'tracks'], 1, 0])
  want(false)
  expect(kinds()).toEqual([])
  for (const isWanted of [true, true]) want(isWanted)
  state.announceTo([VIDEO])
  expect([kinds(), state.subscriptions]).toEqual([['tracks'], 1])
  want(false)
  expect([kinds(), state.subscriptions]).toEqual([['rest'], 0])
  state.announceTo([VIDEO])
  expect(kinds()).toEqual(['tracks'])
  want(true)
  kinds()
  ended(0, 'f1')
  want(true)
  expect([state.announce, state.subscriptions, kinds()]).toEqual([0, 0, []])
})

test('a feed that ended before its process was ready is not announced, nor one whose process never is', async () => {
  const { engine, started, publish, ended } = engineWith({ processes: 1 })
  await publish('a1', 'a')
  const [process] = started
  const { source, state } = restingSource()
  const feeding = engine.feed({ sessionId: 'f1', room: 'a', sourceId: null, source })
  ended(0, 'f1')
  await feeding
  if (process) process.ready = Promise.resolve(false)
  await engine.feed({ sessionId: 'f2', room: 'a', sourceId: null, source })
  await engine.end('f2')
  expect([state.announce, process?.posted]).toEqual([0, []])
})
