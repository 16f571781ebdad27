import { afterEach, describe, expect, test } from 'vitest'
import { vp8 } from '../../src/media/codecs/vp8.ts'
import type { MediaEngineEvent } from '../../src/media/engine.ts'
import { createRelayEngine } from '../../src/media/relay/processes/engine.ts'
import { processIdsOf } from '../support/relayProcesses.ts'
import { publishTo, type TestViewer, viewFrom } from '../support/rtcPeer.ts'
import { silentLog } from '../support/log.ts'
import { until } from '../support/until.ts'
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

const engineWith = (maxViewers: number, native: boolean) =>
  createRelayEngine({
    log: silentLog,
    now: () => performance.now(),
    config: { ...config, native },
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
      await isWatching(viewer)
      viewers.push(viewer)
      pids.push(...processIdsOf(process.pid).filter((pid) => !pids.includes(pid)))
    }
    const ended = () =>
      events.flatMap((event) => (event.kind === 'ended' ? [`${event.sessionId} ${event.reason}`] : []))
    return { engine, events, publish, view, viewers, pids, ended }
  }

  const isWatching = (viewer: TestViewer, more = 20) => {
    const enough = viewer.packets.length + more
    return until(() => viewer.packets.length >= enough)
  }
  const stepsOf = ({ packets }: TestViewer) => {
    const sequences = packets.map(({ header }) => header.sequenceNumber)
    return new Set(sequences.slice(1).map((sequence, at) => (sequence - (sequences[at] ?? 0)) & 0xffff))
  }

  test('each begins with a keyframe, gets every packet, and follows a second publisher without a jump', async () => {
    const { publish, viewers, pids, ended } = await threeViewers()
    expect(pids).toHaveLength(3)
    await publish('p2')
    await until(() => ended().includes('p1 replaced'))
    for (const viewer of viewers) {
      await isWatching(viewer, 40)
      expect(vp8.isKeyStart(viewer.packets[0]?.payload ?? Buffer.alloc(0))).toBe(true)
      expect(stepsOf(viewer)).toEqual(new Set([1]))
    }
    expect(ended()).toEqual(['p1 replaced'])
  })

  test('one viewer is cut alone, and links are in no count', async () => {
    const { engine, events, viewers, ended } = await threeViewers()
    await engine.end('v2')
    const [first, cut, third] = viewers
    const seen = cut?.packets.length
    if (first !== undefined) await isWatching(first, 60)
    if (third !== undefined) await isWatching(third, 20)
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
    for (const at of [0, 2]) await isWatching(viewers[at] as TestViewer, 40)
    await isWatching(await view('v4'))
    expect(ended()).toEqual(['v2 engine_died'])
  })

  test('when the process of the publisher dies, viewers elsewhere wait for the next publisher', async () => {
    const { viewers, pids, ended, publish } = await threeViewers()
    process.kill(pids[0] ?? 0, 'SIGKILL')
    await until(() => ended().length >= 2)
    expect(ended().toSorted()).toEqual(['p1 engine_died', 'v1 engine_died'])
    await publish('p2')
    for (const at of [1, 2]) {
      await isWatching(viewers[at] as TestViewer, 40)
      expect(stepsOf(viewers[at] as TestViewer)).toEqual(new Set([1]))
    }
    expect(ended()).toHaveLength(2)
  })
})
