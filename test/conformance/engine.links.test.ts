import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { vp8 } from '../../src/media/codecs/vp8.ts'
import type { MediaEngine, MediaEngineEvent } from '../../src/media/engine.ts'
import { createRelayEngine, type RelayEngineOptions } from '../../src/media/relay/processes/engine.ts'
import { parseFragment } from '../../src/media/relay/wire/sdp/fragment.ts'
import { encoded, Player } from '../media/ffmpeg/frames.ts'
import { farProcesses } from '../support/farProcesses.ts'
import { processIdsOf } from '../support/relayProcesses.ts'
import { publishTo, TestPublisher, type TestViewer, viewFrom } from '../support/rtcPeer.ts'
import { silentLog } from '../support/log.ts'
import { SimulcastPublisher } from '../support/simulcastPublisher.ts'
import { until } from '../support/until.ts'
import { watch } from '../support/wireViewer.ts'
import { engineConformance } from './engine.ts'

const config = {
  host: '',
  udpPort: 0,
  processes: 3,
  publicAddresses: [],
  maxBitrate: 2_500_000,
  maxSessions: 1000,
  publisherSilentMs: 15_000,
}
/** Longer than a process takes to start: no viewer goes home because its process has just begun. */
const LINK_WAIT_MS = 20_000

const engineWith = (maxViewers: number, native: boolean, processes = 3, over: Partial<RelayEngineOptions> = {}) =>
  createRelayEngine({
    ...over,
    log: silentLog,
    now: () => performance.now(),
    config: { ...config, native, processes },
    maxViewers,
    linkWaitMs: LINK_WAIT_MS,
  })

// The home takes no viewer: each gets the media by a link.
for (const native of [true, false])
  engineConformance(`the relay, whose viewers are in other processes than their publisher, native: ${native}`, {
    create: () => engineWith(0, native),
    kill: () => {
      for (const pid of processIdsOf(process.pid)) process.kill(pid, 'SIGKILL')
    },
  })

describe.each([true, false])('a room with a viewer in each of three processes, native: %s', (native) => {
  const open: { close(): Promise<void> }[] = []
  let stop = async (): Promise<void> => undefined
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close()
    await stop()
  })

  /** The home has the first viewer. The process ids are in the order of the viewers. */
  async function threeViewers() {
    const engine = engineWith(1, native)
    stop = () => engine.stop()
    const events: MediaEngineEvent[] = []
    engine.watch((event) => events.push(event))
    const tracked = <T extends { close(): Promise<void> }>(one: T): T => {
      open.push(one)
      return one
    }
    const publish = async (sessionId: string) => tracked(await publishTo(engine, sessionId))
    const view = async (sessionId: string) => tracked(await viewFrom(engine, sessionId))
    await publish('p1')
    const pids: number[] = processIdsOf(process.pid)
    const viewers: TestViewer[] = []
    for (const sessionId of ['v1', 'v2', 'v3']) {
      const viewer = await view(sessionId)
      await viewer.gets()
      viewers.push(viewer)
      pids.push(...processIdsOf(process.pid).filter((pid) => !pids.includes(pid)))
    }
    const ended = () =>
      events.flatMap((event) => (event.kind === 'ended' ? [`${event.sessionId} ${event.reason}`] : []))
    return { engine, events, publish, view, viewers, pids, ended }
  }

  test('each begins with a keyframe, gets every packet, and follows a second publisher without a jump', async () => {
    const { publish, viewers, pids, ended } = await threeViewers()
    expect(pids).toHaveLength(3)
    await publish('p2')
    await until(() => ended().includes('p1 replaced'))
    for (const viewer of viewers) {
      await viewer.gets(40)
      expect(vp8.isKeyStart(viewer.packets[0]?.payload ?? Buffer.alloc(0))).toBe(true)
      expect(viewer.steps).toEqual(new Set([1]))
    }
    expect(ended()).toEqual(['p1 replaced'])
  })

  test('one viewer is cut alone, and links are in no count', async () => {
    const { engine, events, viewers, ended } = await threeViewers()
    await engine.end('v2')
    const [first, cut, third] = viewers
    const seen = cut?.packets.length
    if (first !== undefined) await first.gets(60)
    if (third !== undefined) await third.gets(20)
    expect(cut?.packets.length).toBe(seen)
    expect(ended()).toEqual(['v2 kicked'])
    const counted = events.flatMap((event) => (event.kind === 'bytes' ? [event.sessionId] : []))
    expect(new Set(counted)).toEqual(new Set(['p1', 'v1', 'v2', 'v3']))
    const bytesOf = (sessionId: string) =>
      events.findLast((event) => event.kind === 'bytes' && event.sessionId === sessionId)
    await until(() => bytesOf('p1') !== undefined)
    expect(bytesOf('p1')).toMatchObject({ bytesOut: expect.toSatisfy((bytes: number) => bytes < 20_000) })
  })

  test('a process without the publisher that dies ends its own viewers only', async () => {
    const { viewers, pids, ended, view } = await threeViewers()
    process.kill(pids[1] ?? 0, 'SIGKILL')
    await until(() => ended().length > 0)
    expect(ended()).toEqual(['v2 engine_died'])
    for (const at of [0, 2]) await viewers[at]?.gets(40)
    await (await view('v4')).gets()
    expect(ended()).toEqual(['v2 engine_died'])
  })

  test('when the process of the publisher dies, viewers elsewhere wait for the next publisher', async () => {
    const { viewers, pids, ended, publish } = await threeViewers()
    process.kill(pids[0] ?? 0, 'SIGKILL')
    await until(() => ended().length >= 2)
    expect(ended().toSorted()).toEqual(['p1 engine_died', 'v1 engine_died'])
    await publish('p2')
    for (const at of [1, 2]) {
      await viewers[at]?.gets(40)
      expect(viewers[at]?.steps).toEqual(new Set([1]))
    }
    expect(ended()).toHaveLength(2)
  })
})

const ROOM = 'a1b2c3/show'

describe.each([true, false])('viewers in another process than their publisher, native: %s', (native) => {
  const open: { close(): unknown }[] = []
  let engine: MediaEngine
  let events: MediaEngineEvent[] = []
  const start = (maxViewers: number, processes: number): void => {
    engine = engineWith(maxViewers, native, processes)
    events = []
    engine.watch((event) => events.push(event))
  }
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close()
    await engine.stop()
  })

  const tracked = <T extends { close(): unknown }>(one: T): T => {
    open.push(one)
    return one
  }
  const view = async (sessionId: string) => tracked(await watch(engine, sessionId, ROOM))
  const ended = () => events.flatMap((event) => (event.kind === 'ended' ? [`${event.sessionId} ${event.reason}`] : []))

  test('a viewer changes between layers at keyframes without a gap, and the link carries what it watches', async () => {
    start(0, 2)
    const publisher = tracked(await SimulcastPublisher.publish(engine, 'p1', ROOM))
    const viewer = await view('v1')
    const latest = () => publisher.layerOf(viewer.packets().at(-1)?.payload)
    await until(() => latest() === 'h')
    for (const rid of ['l', 'h', 'l']) {
      // The bit rates of the layers come by the link.
      await until(async () => (await engine.layers('v1', rid)).ok)
      await until(() => latest() === rid)
      await viewer.gets(20)
      expect(latest()).toBe(rid)
    }
    const all = viewer.packets()
    for (const [at, { sequence, payload }] of all.entries()) {
      const before = all[at - 1]
      if (before === undefined) continue
      expect((sequence - before.sequence) & 0xffff).toBe(1)
      if (publisher.layerOf(payload) !== publisher.layerOf(before.payload)) expect(vp8.isKeyStart(payload)).toBe(true)
    }
  })

  test('a viewer restarts ICE, and goes on with the new credentials', async () => {
    start(0, 2)
    tracked(await publishTo(engine, 'p1'))
    const { peer, answers, gets } = await view('v1')
    await gets()
    const names = { ufrag: 'EsAw', pwd: 'P2uYro0UCOQ4zxjKXaWCBui1' }
    const answer = await engine.patch('v1', `a=ice-ufrag:${names.ufrag}\r\na=ice-pwd:${names.pwd}\r\n`, true)
    const fragment = parseFragment(answer.ok ? (answer.answer ?? '') : '')
    if (!fragment.ok) throw new Error(fragment.error.problem)
    const { iceUfrag, icePwd } = fragment.value
    Object.assign(peer, { names, remote: { ufrag: iceUfrag, pwd: icePwd } })
    const before = answers()
    peer.check()
    await until(() => answers() > before)
    await gets(30)
    expect(ended()).toEqual([])
  })

  test('of two forms of a feed each viewer gets the one that it can show', async () => {
    start(0, 2)
    const [h264, original] = await Promise.all(
      (['h264', 'vp8'] as const).map((video) => encoded({ video, seconds: 3, gop: 25 })),
    )
    if (h264 === undefined || original === undefined) throw new Error('a clip is missing')
    const feed = (sessionId: string, preferredTo: string | null, clip: typeof h264) =>
      engine.feed({ sessionId, room: ROOM, sourceId: null, preferredTo, source: new Player(clip, 1) })
    await feed('f1', null, h264)
    await feed('f1 as it is', 'f1', original)
    await until(() => events.filter(({ kind }) => kind === 'tracks').length >= 2)
    const able = tracked(await viewFrom(engine, 'able', { codec: 'vp8' }))
    const other = tracked(await viewFrom(engine, 'other', { codec: 'h264' }))
    for (const viewer of [able, other]) await until(() => viewer.packets.length > 20)
    expect(ended()).toEqual([])
  })

  test('viewers follow to another publisher when theirs is set aside, and back', async () => {
    start(0, 2)
    const publish = async (sessionId: string, priority: number) => {
      const publisher = tracked(new TestPublisher())
      const offer = await publisher.offer()
      const answer = await engine.publish({ sessionId, room: ROOM, sourceId: null, offer, codec: null, priority })
      if (!answer.ok) throw new Error(answer.problem)
      await publisher.accept(answer.answer)
      publisher.play()
    }
    await publish('spare', 1)
    await publish('main', 2)
    const { packets, gets } = await view('v1')
    await gets()
    for (const isAside of [true, false]) {
      const asked = packets().length
      engine.setAside('main', isAside)
      // Each begins with a keyframe, which nothing else asks for.
      await until(() =>
        packets()
          .slice(asked)
          .some(({ payload }) => vp8.isKeyStart(payload)),
      )
      await gets(30)
    }
    const sequences = packets().map(({ sequence }) => sequence)
    const steps = sequences.slice(1).map((sequence, at) => (sequence - (sequences[at] ?? 0)) & 0xffff)
    expect(new Set(steps)).toEqual(new Set([1]))
    expect(ended()).toEqual([])
  })

  test('a process that is killed ends its twenty viewers and no other, and they come back at once', async () => {
    start(20, 2)
    tracked(await publishTo(engine, 'p1'))
    const [home] = processIdsOf(process.pid)
    const ids = Array.from({ length: 40 }, (_, at) => `v${at + 1}`)
    const viewers = []
    for (const sessionId of ids) viewers.push(await view(sessionId))
    await Promise.all(viewers.map(({ gets }) => gets()))
    for (const pid of processIdsOf(process.pid)) if (pid !== home) process.kill(pid, 'SIGKILL')
    await until(() => ended().length >= 20)
    // Not always the last twenty: a process that is busy for a moment takes none meanwhile.
    const isLost = (sessionId: string): boolean => ended().includes(`${sessionId} engine_died`)
    const [lost, left] = [ids.filter(isLost), viewers.filter((_, at) => !isLost(ids[at] ?? ''))]
    expect([lost.length, ended().length]).toEqual([20, 20])
    const back = await Promise.all(lost.map((sessionId) => view(`${sessionId} again`)))
    await Promise.all([...left, ...back].map(({ gets }) => gets()))
    expect(ended()).toHaveLength(20)
  })
})

const isAfter = (sequence: number, other: number): boolean => ((sequence - other) & 0xffff) < 0x8000

test.each([true, false])('a link over a bad network loses nothing for viewers, native: %s', async (native) => {
  const { startProcess, lose, close } = farProcesses(30)
  const engine = engineWith(0, native, 2, { startProcess })
  onTestFinished(async () => {
    await engine.stop()
    close()
  })
  const publisher = await publishTo(engine, 'p1')
  onTestFinished(() => publisher.close())
  const { packets, gets, close: leave } = await watch(engine, 'v1', ROOM)
  onTestFinished(leave)
  await gets()
  for (const share of [0, 0.03, 0.08]) {
    lose(share)
    const begin = packets().length
    // Not the last that came: what is sent again comes behind later packets.
    const sequences = packets().map(({ sequence }) => sequence)
    const first = sequences.reduce((most, one) => (isAfter(one, most) ? one : most))
    /** How far each packet since then is behind that one. */
    const since = (): number[] =>
      packets()
        .slice(begin)
        .map(({ sequence }) => (sequence - first) & 0xffff)
        .filter((step) => step < 0x8000)
    await gets(200)
    const latest = Math.max(...since())
    await until(() => new Set(since().filter((step) => step <= latest)).size === latest)
  }
  lose(0.25)
  await gets(200)
})
