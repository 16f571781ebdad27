import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { parseAddress } from '../../src/core/access/address.ts'
import type { RenditionFacts } from '../../src/core/hls/facts.ts'
import type { LocalRendition, PackagedStream } from '../../src/edge/http/hls/admissions.ts'
import { awaitPiece, awaitPlaylist } from '../../src/edge/http/hls/sending.ts'
import { HlsViewer, HlsViewers } from '../../src/edge/http/hls/viewers.ts'

const clock = new ManualClock()

/** Viewers with a master playlist, who have not requested media. */
function arrive(viewers: HlsViewers, count: number, addressOf: (at: number) => string): HlsViewer[] {
  return Array.from({ length: count }, (_, at) => {
    const sessionId = `${addressOf(at)}-${at} of ${count}`
    const target = { accountId: 'a', streamName: 'show', sourceId: null }
    const viewer = new HlsViewer({ ticketId: sessionId, sessionId, target })
    viewers.wait(viewer, addressOf(at))
    return viewer
  })
}

const isKnown = (viewers: HlsViewers, { sessionId }: HlsViewer) => viewers.find(sessionId) !== undefined

test('an address that floods master playlist requests evicts only its own oldest viewers', () => {
  const viewers = new HlsViewers(clock)
  const [other] = arrive(viewers, 1, () => 'other')
  const flood = arrive(viewers, 30_000, () => 'flood')
  expect(isKnown(viewers, other!)).toBe(true)
  expect(flood.filter((viewer) => isKnown(viewers, viewer))).toEqual(flood.slice(-1000))
})

test('a network that floods them from many addresses evicts only its own', () => {
  const viewers = new HlsViewers(clock)
  const [other] = arrive(viewers, 1, () => '2001:db8:2:1::/64')
  const flood = arrive(viewers, 20_000, (at) => `2001:db8:1:${(at % 9999).toString(16)}::/64`)
  expect(isKnown(viewers, other!)).toBe(true)
  expect(flood.filter((viewer) => isKnown(viewers, viewer))).toEqual(flood.slice(-5500))
})

test('with many addresses the newest viewers stay, up to the limit', () => {
  const viewers = new HlsViewers(clock)
  const all = arrive(viewers, 25_000, (at) => `address-${at % 5000}`)
  expect(all.filter((viewer) => isKnown(viewers, viewer))).toEqual(all.slice(-10_000))
})

test('a viewer whose session waits for a source or for the store has not left', async () => {
  const viewers = new HlsViewers(clock)
  const [viewer, gone] = arrive(viewers, 2, () => 'address')
  const admission = Promise.withResolvers<null>()
  viewer!.opensWith(() => admission.promise)
  const opening = viewer!.begin(parseAddress('192.0.2.1')!, 'stream')
  for (let second = 0; second < 8; second++) {
    clock.advance(1000)
    viewers.idle(6000)
  }
  expect(viewers.idle(6000)).toEqual([gone])
  admission.resolve(null)
  await opening
  expect(viewers.idle(6000)).toEqual([viewer, gone])
})

test('a viewer whose session opens is never evicted: its next request would open a second one', () => {
  const viewers = new HlsViewers(clock)
  const [opening] = arrive(viewers, 1, () => 'flood')
  opening!.opensWith(() => new Promise(() => undefined))
  void opening!.begin(parseAddress('192.0.2.1')!, 'stream')
  arrive(viewers, 2000, () => 'flood')
  expect(isKnown(viewers, opening!)).toBe(true)
})

test('a viewer with a session is never evicted', () => {
  const viewers = new HlsViewers(clock)
  const [watching] = arrive(viewers, 1, () => 'flood')
  viewers.add(watching!)
  arrive(viewers, 30_000, (at) => (at % 2 ? 'flood' : `address-${at}`))
  expect(isKnown(viewers, watching!)).toBe(true)
})

test('an answer whose client had gone during the decision was taken for one under way, and kept', () => {
  const [viewer] = arrive(new HlsViewers(clock), 1, () => 'home')
  const socket = new Socket()
  socket.destroy()
  const answer = {
    req: { socket, headers: {} },
    writableFinished: false,
    on: () => undefined,
    destroy: () => undefined,
  }
  let counted = 0
  viewer?.attend(answer, () => void (counted += 1), false)
  expect([viewer?.isServed, counted]).toEqual([false, 1])
})

test('a deleted viewer leaves no trace', () => {
  const viewers = new HlsViewers(clock)
  for (const viewer of arrive(viewers, 999, () => 'school')) viewers.forget(viewer)
  const school = arrive(viewers, 1000, () => 'school')
  expect(school.every((viewer) => isKnown(viewers, viewer))).toBe(true)
})

test('a session that is open is not opened again, whenever the next request comes', async () => {
  const viewers = new HlsViewers(clock)
  const viewer = arrive(viewers, 1, () => 'school')[0] ?? expect.fail()
  let opened = 0
  viewer.opensWith(async () => {
    opened += 1
    return null
  })
  const address = parseAddress('192.0.2.1') ?? expect.fail()
  const begun = [viewer.begin(address, 'stream')]
  for (let step = 0; step < 20; step++) {
    await Promise.resolve()
    begun.push(viewer.begin(address, 'stream'))
  }
  expect([new Set(await Promise.all(begun)), opened]).toEqual([new Set([null]), 1])
})

test('a pause of the process ends no viewer; one that asks for nothing afterwards is idle', () => {
  const own = new ManualClock()
  const viewers = new HlsViewers(own)
  const [viewer] = arrive(viewers, 1, () => 'school')
  own.advance(60_000)
  expect(viewers.idle(6000)).toEqual([])
  for (let second = 0; second < 6; second++) {
    own.advance(1000)
    expect(viewers.idle(6000)).toEqual([])
  }
  own.advance(1000)
  expect(viewers.idle(6000)).toEqual([viewer])
})

test('a request waits for three of the announced parts: not so long that other nodes give up, and 6 seconds at least', async () => {
  const waits = async (partSeconds: number | null): Promise<number> => {
    let waitedMs = 0
    const wait = async (ms: number) => {
      waitedMs = ms
      return 'late' as const
    }
    const facts = partSeconds === null ? undefined : ({ partSeconds } as RenditionFacts)
    const stream = {
      facts: () => facts,
      reached: (_name: string, _n: number, _part: number | null, ms: number) => wait(ms),
      reachedPart: (_name: string, _n: number, ms: number) => wait(ms),
    } as unknown as PackagedStream
    const rendition = { stream, name: '0' } as LocalRendition
    await awaitPlaylist(rendition, { sequence: 1, part: 0 })
    const ofPlaylist = waitedMs
    await awaitPiece(rendition, { kind: 'part', name: 'p7.m4s' })
    expect(waitedMs).toBe(ofPlaylist)
    return waitedMs
  }
  expect(await Promise.all([null, 0.35, 3, 10].map(waits))).toEqual([6000, 6000, 9000, 12_000])
})
