import { randomBytes } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import type { BorrowedRoom, MediaEngine, RoomShare } from '../../src/media/engine.ts'
import { createRelayEngine } from '../../src/media/relay/processes/engine.ts'
import { silentLog } from '../support/log.ts'
import { type LossyLink, lossyLink } from '../support/lossyUdp.ts'
import { processIdsOf } from '../support/relayProcesses.ts'
import { publishTo, type TestViewer, viewFrom } from '../support/rtcPeer.ts'
import { SimulcastPublisher } from '../support/simulcastPublisher.ts'
import { until } from '../support/until.ts'
import { watch } from '../support/wireViewer.ts'

/** Longer than a process takes to start. */
const LINK_WAIT_MS = 20_000
/** As `publishTo` has it. */
const ROOM = 'a1b2c3/show'
let nextSsrc = 2 ** 31 + 1

/** A network between two nodes. */
async function networkOf() {
  let link: LossyLink | null = null
  return {
    before: async (port: number): Promise<number> => {
      link = await lossyLink(port, 1)
      return link.port
    },
    carried: () => link?.carried() ?? 0,
    limit: (bitrate: number | null) => link?.limit(bitrate),
    close: async () => link?.close(),
  }
}

describe.each([true, false])('engines of different nodes, native: %s', (native) => {
  const open: { close(): Promise<void> }[] = []
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close()
  })

  /** With one viewer in each process that is not the home of its room. */
  function engine(processes = 1, maxViewers = Number.POSITIVE_INFINITY) {
    const made = createRelayEngine({
      log: silentLog,
      now: () => performance.now(),
      config: {
        host: '127.0.0.1',
        udpPort: 0,
        processes,
        publicAddresses: [],
        maxBitrate: 2_500_000,
        maxSessions: 1000,
        publisherSilentMs: 15_000,
        native,
      },
      maxViewers,
      linkWaitMs: LINK_WAIT_MS,
    })
    open.push({ close: () => made.stop() })
    const ended: string[] = []
    made.watch((event) => event.kind === 'ended' && ended.push(`${event.sessionId} ${event.reason}`))
    return { engine: made, ended }
  }

  const tracked = <T extends { close(): Promise<void> }>(one: T): T => {
    open.push(one)
    return one
  }
  const publish = async (at: MediaEngine, id: string, sourceId: string | null = null) =>
    tracked(await publishTo(at, id, { sourceId }))
  const view = async (at: MediaEngine, id: string, sourceId: string | null = null) =>
    tracked(await viewFrom(at, id, { sourceId }))

  /** `by`: the port of a network in between. */
  async function shared(
    home: MediaEngine,
    edge: MediaEngine,
    by: (port: number) => Promise<number> = async (port) => port,
  ): Promise<BorrowedRoom & { over: () => boolean }> {
    const share: RoomShare = { room: ROOM, key: randomBytes(32), ssrc: nextSsrc++ }
    let isOver = false
    const lent = await home.links?.lend(share, () => undefined)
    const { address, port } = lent?.addresses[0] ?? { address: '', port: 0 }
    const borrowed = edge.links?.borrow(share, [{ address, port: await by(port) }], () => (isOver = true))
    if (borrowed === undefined) throw new Error('this engine borrows nothing')
    return { ...borrowed, over: () => isOver }
  }

  test('viewers in every process of the borrowing node get every packet, and follow the next publisher without a jump', async () => {
    const [home, edge] = [engine(), engine(3, 1)]
    await publish(home.engine, 'p1')
    expect(await (await shared(home.engine, edge.engine)).open).toBe(true)
    const viewers: TestViewer[] = []
    for (const id of ['v1', 'v2', 'v3']) {
      const viewer = await view(edge.engine, id)
      await viewer.gets()
      viewers.push(viewer)
    }
    expect(processIdsOf(process.pid)).toHaveLength(4)
    await publish(home.engine, 'p2')
    await until(() => home.ended.includes('p1 replaced'))
    for (const viewer of viewers) {
      await viewer.gets(40)
      expect(viewer.steps).toEqual(new Set([1]))
    }
    expect(edge.ended).toEqual([])
  })

  test('when the process of the publisher dies, viewers of other nodes wait, and follow a publisher of a third node', async () => {
    const [home, edge, third] = [engine(), engine(), engine()]
    await publish(home.engine, 'p1')
    const [pid = 0] = processIdsOf(process.pid)
    const first = await shared(home.engine, edge.engine)
    expect(await first.open).toBe(true)
    const viewer = await view(edge.engine, 'viewer')
    await viewer.gets()
    process.kill(pid, 'SIGKILL')
    await until(first.over)
    await publish(third.engine, 'p2')
    expect(await (await shared(third.engine, edge.engine)).open).toBe(true)
    await viewer.gets(40)
    expect(viewer.steps).toEqual(new Set([1]))
    expect(edge.ended).toEqual([])
  })

  test('a link carries the layers that viewers watch and no others, and while it is narrow a smaller one', async () => {
    const [home, edge] = [engine(), engine()]
    const publisher = tracked(await SimulcastPublisher.publish(home.engine, 'p1', ROOM))
    const network = tracked(await networkOf())
    expect(await (await shared(home.engine, edge.engine, network.before)).open).toBe(true)
    const viewer = await watch(edge.engine, 'viewer', ROOM)
    tracked({ close: async () => viewer.close() })
    const latest = () => publisher.layerOf(viewer.packets().at(-1)?.payload)
    await until(() => latest() === 'h')
    // A frame is a packet. What the link needs beside it is less than half of the smallest.
    const isAlone = async (bytes: number): Promise<boolean> => {
      const [frames, carried] = [viewer.peer.media.length, network.carried()]
      await viewer.gets(25)
      return network.carried() - carried < (viewer.peer.media.length - frames) * (bytes + 80)
    }
    network.limit(140_000)
    await until(() => latest() === 'm' || latest() === 'l')
    network.limit(null)
    await until(async () => (await edge.engine.layers('viewer', 'l')).ok && latest() === 'l')
    // The others go on for some seconds, because viewers come back.
    await until(() => isAlone(150))
    expect(edge.ended).toEqual([])
  })

  /** A room that `parent` has from `home` and lends on. */
  async function lentOn(borrowed: BorrowedRoom, edge: MediaEngine): Promise<BorrowedRoom & { over: () => boolean }> {
    const share: RoomShare = { room: ROOM, key: randomBytes(32), ssrc: nextSsrc++ }
    let isOver = false
    const lent = await borrowed.lend(share, () => undefined)
    const further = edge.links?.borrow(share, lent?.addresses ?? [], () => (isOver = true))
    if (further === undefined) throw new Error('this engine borrows nothing')
    return { ...further, over: () => isOver }
  }

  test('a room that is lent on reaches viewers in every process of a third node, who follow the next publisher', async () => {
    const [home, parent, edge] = [engine(), engine(2), engine(2, 1)]
    await publish(home.engine, 'p1')
    const first = await shared(home.engine, parent.engine)
    const further = await lentOn(first, edge.engine)
    expect([await first.open, await further.open]).toEqual([true, true])
    const viewers = [await view(edge.engine, 'v1'), await view(edge.engine, 'v2'), await view(parent.engine, 'v3')]
    for (const viewer of viewers) await viewer.gets(40)
    await publish(home.engine, 'p2')
    await until(() => home.ended.includes('p1 replaced'))
    for (const viewer of viewers) {
      await viewer.gets(40)
      expect(viewer.steps).toEqual(new Set([1]))
    }
    expect([home, parent, edge].map((at) => at.engine.links?.counts)).toEqual([
      { lent: 1, borrowed: 0 },
      { lent: 1, borrowed: 1 },
      { lent: 0, borrowed: 1 },
    ])
  })

  test('a source at the second node is not lent on, and a room that it gives back ends at the third', async () => {
    const [home, parent, edge] = [engine(), engine(), engine()]
    await publish(home.engine, 'p1', 'one')
    const first = await shared(home.engine, parent.engine)
    await publish(parent.engine, 'p2', 'two')
    const further = await lentOn(first, edge.engine)
    expect(await further.open).toBe(true)
    const watching = await view(edge.engine, 'viewer of one', 'one')
    await watching.gets()
    await expect(view(edge.engine, 'viewer of two', 'two')).rejects.toThrow('Stream not being published')
    first.end()
    await until(further.over)
    expect(await first.lend({ room: ROOM, key: randomBytes(32), ssrc: nextSsrc++ }, () => undefined)).toBe(null)
    // As nodes do: it comes from the first one again, without a new offer.
    expect(await (await shared(home.engine, edge.engine)).open).toBe(true)
    await watching.gets(60)
    expect([watching.steps, edge.ended]).toEqual([new Set([1]), []])
  })

  test('when the process of the second node is killed, viewers at the third get the stream from the first one', async () => {
    const [home, edge] = [engine(), engine()]
    await publish(home.engine, 'p1')
    const before = processIdsOf(process.pid)
    const parent = engine()
    const first = await shared(home.engine, parent.engine)
    const further = await lentOn(first, edge.engine)
    expect(await first.open).toBe(true)
    const [pid = 0] = processIdsOf(process.pid).filter((one) => !before.includes(one))
    expect(await further.open).toBe(true)
    const watching = await view(edge.engine, 'viewer')
    await watching.gets()
    process.kill(pid, 'SIGKILL')
    await until(() => first.over() && further.over())
    expect(await (await shared(home.engine, edge.engine)).open).toBe(true)
    await watching.gets(60)
    expect([watching.steps, edge.ended]).toEqual([new Set([1]), []])
  })

  test('two nodes lend each other a room of two sources, and each has those of both once', async () => {
    const [home, edge] = [engine(), engine()]
    await publish(home.engine, 'p1', 'one')
    await publish(edge.engine, 'p2', 'two')
    const there = await shared(home.engine, edge.engine)
    const back = await shared(edge.engine, home.engine)
    expect([await there.open, await back.open]).toEqual([true, true])
    for (const [at, sourceId] of [
      [home.engine, 'two'],
      [edge.engine, 'one'],
    ] as const)
      await (await view(at, `viewer of ${sourceId}`, sourceId)).gets()
    expect([home.engine.links?.counts, edge.engine.links?.counts]).toEqual([
      { lent: 1, borrowed: 1 },
      { lent: 1, borrowed: 1 },
    ])
    there.end()
    await until(() => edge.engine.links?.counts.borrowed === 0 && home.engine.links?.counts.lent === 0)
  })
})
