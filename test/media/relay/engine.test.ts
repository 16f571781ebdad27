import { execFileSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import type { MediaEngineEvent } from '../../../src/media/engine.ts'
import type { FrameSink, RestingSource, TrackInfo } from '../../../src/media/frame.ts'
import { Hub } from '../../../src/media/hub.ts'
import { createRelayEngine } from '../../../src/media/relay/processes/engine.ts'
import type { RelayConfig } from '../../../src/media/relay/processes/processPool.ts'
import { Worker, type WorkerOptions } from '../../../src/media/relay/processes/worker.ts'
import { silentLog } from '../../support/log.ts'
import { eventually } from '../../support/until.ts'
import { addressOf, WirePeer } from '../../support/wirePeer.ts'

const VIDEO: TrackInfo = { kind: 'video', codec: 'h264', width: 640, height: 360, config: new Uint8Array() }
const OPUS: TrackInfo = { kind: 'audio', codec: 'opus', sampleRate: 48_000, channels: 2, config: new Uint8Array() }
const offline = { nowMs: 0, listen: () => undefined, send: () => undefined }
const offerTo = (direction: 'sendonly' | 'recvonly'): string => new WirePeer(offline, addressOf(1)).offer(direction)

const stops: (() => Promise<void>)[] = []
afterAll(() => Promise.all(stops.map((stop) => stop())))

/** An engine with real processes. No peer connects: what is tested is where sessions are, and what becomes of them. */
function engineWith(over: Partial<RelayConfig> = {}, hungMs = 30_000) {
  const others = new Set(childPids())
  const base = { host: '127.0.0.1', udpPort: 0, processes: 2, maxBitrate: 1e6, maxSessions: 10 }
  const config = { ...base, publicAddresses: ['198.51.100.7'], publisherSilentMs: 15_000, ...over }
  const startProcess = (options: WorkerOptions) => new Worker({ ...options, hungMs })
  const engine = createRelayEngine({ log: silentLog, now: () => performance.now(), config, startProcess })
  const events: MediaEngineEvent[] = []
  // Waits are reported each second, whatever happens.
  const unwatch = engine.watch((event) => event.kind !== 'waits' && events.push(event))
  stops.push(() => engine.stop())
  const publish = (sessionId: string, room: string) =>
    engine.publish({ sessionId, room, sourceId: null, offer: offerTo('sendonly'), codec: null })
  /** The port of the process that answered. */
  const portOf = async (sessionId: string, room: string): Promise<string | undefined> => {
    const answer = await publish(sessionId, room)
    return answer.ok ? / 198\.51\.100\.7 (\d+) typ host/.exec(answer.answer)?.[1] : answer.problem
  }
  const endOf = (id: string) =>
    events.flatMap((one) => (one.kind === 'ended' && one.sessionId === id ? [one.reason] : []))
  const pids = () => childPids().filter((pid) => !others.has(pid))
  return { engine, config, events, unwatch, publish, portOf, endOf, pids }
}

function childPids(): number[] {
  const children = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], { encoding: 'utf8' })
  return children
    .split('\n')
    .flatMap((line) => (line.includes('relay/processes/process.ts') ? [Number.parseInt(line, 10)] : []))
}

/** Frames of another protocol, and whether the engine subscribes to them. */
function restingSource() {
  const hub = new Hub()
  const state = { isSubscribed: false, isAnnounced: false }
  const source: RestingSource = {
    announce(listener) {
      listener([VIDEO, OPUS])
      state.isAnnounced = true
      return () => void (state.isAnnounced = false)
    },
    subscribe(sink: FrameSink) {
      state.isSubscribed = true
      const stop = hub.subscribe(sink)
      return () => {
        state.isSubscribed = false
        stop()
      }
    },
  }
  return { source, state }
}

test('an idle engine has no process, rooms are spread over processes, and a room stays in one', async () => {
  const { engine, portOf, pids, endOf } = engineWith()
  await engine.start()
  expect(pids()).toEqual([])
  const [a, b] = [await portOf('a1', 'x/a'), await portOf('b1', 'x/b')]
  expect([await portOf('a2', 'x/a'), await portOf('b2', 'x/b'), await portOf('b3', 'x/b')]).toEqual([a, b, b])
  expect([Number(a) > 0, a === b, pids().length]).toEqual([true, false, 2])
  // The fewest sessions are with the first room.
  expect(await portOf('c1', 'x/c')).toBe(a)
  // The first two were answered before the second process had started, and end by themselves without a peer.
  await engine.end('a2')
  expect([endOf('a2'), endOf('b2')]).toEqual([['kicked'], []])
  await engine.end('a2')
  expect(endOf('a2')).toEqual(['kicked'])
  await engine.stop()
  expect([endOf('b3'), endOf('c1'), pids()]).toEqual([['kicked'], ['kicked'], []])
  expect(await portOf('late', 'x/a')).toBe('The media server is starting again; come back in a moment.')
})

test('of a process whose port another program has, the end names the port and the key', async () => {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  const { engine, events, portOf } = engineWith({ processes: 1, udpPort: port })
  expect(await portOf('a1', 'x/a')).toContain('The media server is starting again')
  const detail = `UDP port ${port} is in use by another process; stop it, or choose another with webrtc.port`
  await eventually(async () => expect(events).toContainEqual(expect.objectContaining({ kind: 'died', detail })))
  socket.close()
  await engine.stop()
})

test('the ports of processes that do not run yet are held, so that another server finds them taken', async () => {
  const bound = async (port: number): Promise<number | string> => {
    const socket = createSocket('udp4').bind(port, '127.0.0.1')
    // Rejects with an error of the socket.
    const isBound = await once(socket, 'listening').then(
      () => true,
      () => false,
    )
    const own = isBound ? socket.address().port : 'taken'
    socket.close()
    return own
  }
  const udpPort = Number(await bound(0))
  const { engine, portOf } = engineWith({ processes: 1, udpPort })
  await engine.start()
  expect(await bound(udpPort)).toBe('taken')
  expect(await portOf('a1', 'x/a')).toBe(String(udpPort))
  await engine.stop()
  await engine.start()
  await engine.stop()
  expect(await bound(udpPort)).toBe(udpPort)
})

test('processes that run announce other addresses when the configuration names others', async () => {
  // They look for others in an interval.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const { engine, portOf, publish, config } = engineWith({ processes: 1 })
  expect(Number(await portOf('a1', 'x/a'))).toBeGreaterThan(0)
  config.publicAddresses = ['203.0.113.9']
  vi.runOnlyPendingTimers()
  let asked = 1
  await eventually(async () => {
    const answer = await publish(`a${++asked}`, `x/${asked}`)
    expect(answer.ok && answer.answer).toContain(' 203.0.113.9 ')
  })
  await engine.stop()
})

test('of a process that dies only the sessions end, and the next session waits for another process', async () => {
  const { engine, portOf, pids, endOf, events } = engineWith()
  const first = await portOf('a1', 'x/a')
  const [pid = 0] = pids()
  await portOf('b1', 'x/b')
  process.kill(pid, 'SIGKILL')
  await eventually(() =>
    expect(events.at(-1)).toMatchObject({ kind: 'died', detail: expect.stringContaining('SIGKILL'), isHung: false }),
  )
  expect([endOf('a1'), endOf('b1')]).toEqual([['engine_died'], []])
  expect(await engine.patch('a1', 'a=ice-ufrag:abcd', true)).toMatchObject({ ok: false, status: 404 })
  const again = await portOf('a2', 'x/a')
  expect([Number(again) > 0, again === first]).toEqual([true, false])
  await engine.stop()
  expect(events.filter(({ kind }) => kind === 'died')).toHaveLength(1)
})

test('a process that hangs is killed, its sessions end, and the next session gets another process', async () => {
  const { portOf, pids, endOf, events } = engineWith({ processes: 1 }, 3000)
  const first = await portOf('a1', 'x/a')
  const [pid = 0] = pids()
  process.kill(pid, 'SIGSTOP')
  await eventually(() => expect(events.at(-1)).toMatchObject({ kind: 'died', isHung: true, sessions: 1 }))
  expect(endOf('a1')).toEqual(['engine_died'])
  const again = await portOf('a2', 'x/a')
  expect([Number(again) > 0, again === first, pids().includes(pid)]).toEqual([true, false, false])
})

test('a pause of the main process ends no media process', async () => {
  const { portOf, pids, events } = engineWith({ processes: 1 }, 4000)
  const first = await portOf('a1', 'x/a')
  const before = pids()
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5500)
  expect([await portOf('a2', 'x/a'), pids(), events]).toEqual([first, before, []])
})

test('a refused offer leaves no session, and requests for unknown sessions are answered', async () => {
  const { engine, publish, portOf } = engineWith({ maxSessions: 1, processes: 1 })
  const garbage = { sessionId: 'a1', room: 'x/a', sourceId: null, offer: 'hello', codec: null }
  expect(await engine.publish(garbage)).toMatchObject({ ok: false, status: 400 })
  const nothing = { sessionId: 'v1', room: 'x/a', sourceId: null, offer: offerTo('recvonly') }
  expect(await engine.view(nothing)).toMatchObject({ ok: false, status: 409 })
  expect(await engine.patch('a1', 'a=ice-ufrag:abcd', true)).toEqual({
    ok: false,
    status: 404,
    problem: 'There is no such session.',
  })
  await expect(engine.end('a1')).resolves.toBeUndefined()
  expect(Number(await portOf('b1', 'x/b'))).toBeGreaterThan(0)
  expect(await publish('b2', 'x/b')).toMatchObject({
    ok: false,
    status: 503,
    problem: expect.stringContaining('full') as string,
  })
  expect(await engine.patch('b1', 'a=ice-ufrag:abcd', false)).toMatchObject({ ok: false, status: 428 })
})

test('the frames of a session end with it, and those of no session at once', async () => {
  const { engine, portOf, unwatch, events } = engineWith({ processes: 1 })
  const ends: string[] = []
  const sink = (name: string): FrameSink => ({
    tracks: () => undefined,
    frame: () => undefined,
    end: () => void ends.push(name),
  })
  engine.tap('nobody').subscribe(sink('nobody'))
  expect(ends).toEqual(['nobody'])
  await portOf('a1', 'x/a')
  const frames = engine.tap('a1')
  const stop = frames.subscribe(sink('stopped'))
  frames.subscribe(sink('kept'))
  stop()
  stop()
  unwatch()
  const seen = events.length
  await engine.end('a1')
  expect([ends, events.length]).toEqual([['nobody', 'kept'], seen])
})

test('a feed of frames is subscribed to while it has viewers, and forgotten when it ends', async () => {
  const { engine, events, endOf } = engineWith({ processes: 1 })
  const { source, state } = restingSource()
  await engine.feed({ sessionId: 'f1', room: 'x/f', sourceId: null, source })
  await eventually(() =>
    expect(events).toContainEqual({ kind: 'tracks', sessionId: 'f1', tracks: expect.any(Array) as unknown[] }),
  )
  expect([state.isAnnounced, state.isSubscribed]).toEqual([true, false])
  const tapped: unknown[] = []
  const sink = {
    tracks: (tracks: unknown) => tapped.push(tracks),
    frame: () => undefined,
    end: () => tapped.push('end'),
  }
  engine.tap('f1').subscribe(sink)
  const offer = offerTo('recvonly').replace(
    'VP8/90000',
    'H264/90000\r\na=fmtp:96 packetization-mode=1;profile-level-id=42e01f',
  )
  expect(await engine.view({ sessionId: 'v1', room: 'x/f', sourceId: null, offer })).toMatchObject({ ok: true })
  await eventually(() => expect(state.isSubscribed).toBe(true))
  await engine.end('f1')
  expect([endOf('f1'), state.isAnnounced, state.isSubscribed, tapped.at(-1)]).toEqual([['kicked'], false, false, 'end'])
})
