/**
 * Low-latency HLS players of one feed: directly, through Varnish, and through nginx, each with the configuration in
 * `packaging/`. Sluice, the players and five probes are processes of their own. The probes measure when a part arrives, in
 * comparison to one that asks Sluice directly, so that the load of the simulated crowd does not count as lag. At the end
 * the token of twenty players is deleted.
 *   PLAYERS=500 SECONDS=20 SPEED=1 node bench/hls-caches.ts
 * With SPEED=0.5 the feed has half of its 25 frames a second, and parts of 0.7 seconds: half as many requests. Where players
 * have no processor time they fall behind, and ask for what has left the cache; the first line of each way says how many of
 * the parts a player got.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { encoded } from '../test/media/ffmpeg/frames.ts'
import { runApp } from '../test/support/app.ts'
import { broadcast } from '../test/support/broadcast.ts'
import { Caches } from '../test/support/caches.ts'
import { makeToken } from '../test/support/testNode.ts'
import { type Answer, nowMs, play } from './lib/hlsPlayer.ts'
import { median, report } from './lib/report.ts'

const PLAYERS = Number(process.env['PLAYERS'] ?? 500)
const SECONDS = Number(process.env['SECONDS'] ?? 20)
const SPEED = Number(process.env['SPEED'] ?? 1)
const PROBES = 5
const REVOKED = 20
/** Players of a crowd join over this time. */
const JOIN_MS = 5000
const AFTER_MS = 5000

type Way = 'direct' | 'varnishd' | 'nginx'
const WAYS: readonly Way[] = ['direct', 'varnishd', 'nginx']
const NAMES = { direct: 'directly', varnishd: 'through Varnish', nginx: 'through nginx' }
/** Added lag of a part, p50; and the last byte after a token is deleted, p99. */
const LAG_MAX_MS = { direct: 0, varnishd: 10, nginx: 300 }
const REVOKED_MAX_MS = { direct: 500, varnishd: 1200, nginx: 2000 }

/** What Sluice got since the last question, by kind of request. */
interface Origin {
  readonly requests: Readonly<Record<string, number>>
}

interface Crowd {
  readonly port: number
  readonly master: string
  readonly revoked: string
  readonly players: number
  readonly seconds: number
}

interface Watched {
  readonly requests: number
  /** The names of parts, and the queries of reloads, that players requested. */
  readonly parts: readonly string[]
  readonly reloads: readonly string[]
  /** The hash of each part; `different` if two players got different bytes. */
  readonly hashes: Readonly<Record<string, string>>
  readonly failures: readonly string[]
  /** The last byte of each player whose token was deleted. */
  readonly lastMs: readonly number[]
}

/** A child that answers each message with one. */
class Peer {
  readonly #child: ChildProcess

  constructor(role: string) {
    this.#child = fork(process.argv[1] as string, [role])
  }

  async answer<T>(): Promise<T> {
    const [answer] = (await once(this.#child, 'message')) as [T]
    return answer
  }

  ask<T>(message: object): Promise<T> {
    this.#child.send(message)
    return this.answer<T>()
  }

  end(): void {
    this.#child.disconnect()
  }
}

if (process.argv[2] === 'sluice') await serve()
else if (process.argv[2] === 'crowd') answerCrowds()
else await compare()

interface Ready {
  readonly base: string
  readonly masters: readonly { readonly master: string; readonly revoked: string; readonly tokenId: number }[]
}

async function serve(): Promise<void> {
  const sessions = { maxViewersPerAddress: 0, max: 10_000 }
  const flags = { sessions, server: { trustedProxies: ['127.0.0.1'] } }
  const sluice = await runApp({ flags })
  const recorded = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 50, size: '320x180' })
  await broadcast(sluice, recorded, { speed: SPEED, token: { subscribeRequiresAuth: true } })
  const masterOf = (token: string) => `/hls/${sluice.accountId}/show/index.m3u8?auth=${token}`
  const { token } = await makeToken(sluice, 'subscribe')
  const revoked = await Promise.all(WAYS.map(() => makeToken(sluice, 'subscribe')))
  const counted = new Map<string, number>()
  subscribe('http.server.request.start', (message) => {
    const kind = kindOf((message as { request: IncomingMessage }).request.url ?? '')
    counted.set(kind, (counted.get(kind) ?? 0) + 1)
  })
  const answer = async ({ revoke }: { revoke?: number }): Promise<void> => {
    if (revoke !== undefined) {
      await sluice.call('DELETE', `/api/subscribe_token/${revoke}`)
      process.send?.({ atMs: nowMs() })
      return
    }
    process.send?.({ requests: Object.fromEntries(counted) } satisfies Origin)
    counted.clear()
  }
  process.on('message', (message: { revoke?: number }) => void answer(message))
  process.on('disconnect', () => void sluice.close().then(() => process.exit()))
  const masters = revoked.map((one) => ({ master: masterOf(token), revoked: masterOf(one.token), tokenId: one.id }))
  process.send?.({ base: sluice.base, masters } satisfies Ready)
}

function kindOf(url: string): string {
  if (/\/p\d+\.m4s$/.test(url)) return 'parts'
  if (url.includes('media.m3u8?_HLS_msn=')) return 'reloads'
  return url.startsWith('/hls/~') && url.includes('/media.m3u8') ? 'first playlists' : 'others'
}

/** The players of one way at a time. */
function answerCrowds(): void {
  process.on('message', (crowd: Crowd) => void watch(crowd).then((watched) => process.send?.(watched)))
  process.on('disconnect', () => process.exit())
  process.send?.('ready')
}

async function watch({ port, master, revoked, players, seconds }: Crowd): Promise<Watched> {
  const [stop, seen] = [new AbortController(), new Seen()]
  const playing = Array.from({ length: players }, async (_, n) => {
    await sleep((n / players) * JOIN_MS)
    const isRevoked = n < REVOKED
    const onAnswer = seen.listener(isRevoked ? n : null)
    const { onRequest } = seen
    const address = `127.0.${10 + (n >> 7)}.${(n & 127) + 1}`
    const own = { port, address, master: isRevoked ? revoked : master, stop: stop.signal }
    await play({ ...own, onRequest, onAnswer }).catch((error: unknown) => {
      // Sluice cuts the answers of a viewer whose token is deleted.
      if (!isRevoked) seen.failures.push(String(error))
    })
  })
  await sleep(JOIN_MS + seconds * 1000 + AFTER_MS)
  stop.abort()
  await Promise.all(playing)
  return seen.result()
}

class Seen {
  readonly failures: string[] = []
  readonly #names = { part: new Set<string>(), playlist: new Set<string>() }
  readonly #hashes = new Map<string, string>()
  readonly #lastMs = new Map<number, number>()
  #requests = 0

  readonly onRequest = (kind: 'playlist' | 'part', name: string): void => {
    this.#requests += 1
    this.#names[kind].add(name)
  }

  /** @param revoked the number of a player whose token will be deleted; null: another one */
  listener(revoked: number | null) {
    return (kind: 'start' | 'playlist' | 'part', name: string, { status, body, atMs }: Answer): void => {
      if (status !== 200) {
        if (revoked === null || status !== 401) this.failures.push(`${kind} ${name} ${status}`)
        return
      }
      if (revoked !== null) this.#lastMs.set(revoked, atMs)
      if (kind === 'start') return
      if (kind === 'part') this.#compare(name, createHash('sha1').update(body).digest('hex'))
    }
  }

  #compare(name: string, hash: string): void {
    const known = this.#hashes.get(name) ?? hash
    this.#hashes.set(name, known === hash ? hash : 'different')
  }

  result(): Watched {
    return {
      requests: this.#requests,
      parts: [...this.#names.part],
      reloads: [...this.#names.playlist],
      hashes: Object.fromEntries(this.#hashes),
      failures: this.failures,
      lastMs: [...this.#lastMs.values()],
    }
  }
}

async function compare(): Promise<void> {
  const sluice = new Peer('sluice')
  const ready = await sluice.answer<Ready>()
  const crowd = new Peer('crowd')
  await crowd.answer()
  const caches = new Caches(ready.base)
  try {
    for (const [at, way] of WAYS.entries()) {
      const port = way === 'direct' ? Number(new URL(ready.base).port) : (await caches.start(way)).port
      await untilServing(port)
      await measure({ way, port, sluice, crowd, ready, ...ready.masters[at]! })
    }
  } finally {
    await caches.stop()
    for (const peer of [crowd, sluice]) peer.end()
  }
}

async function untilServing(port: number): Promise<void> {
  for (let tries = 0; tries < 300; tries += 1) {
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null)
    if (answer?.ok) return
    await sleep(100)
  }
  throw new Error(`nothing answers at port ${port}`)
}

interface Measuring {
  readonly way: Way
  readonly port: number
  readonly sluice: Peer
  readonly crowd: Peer
  readonly ready: Ready
  readonly master: string
  readonly revoked: string
  readonly tokenId: number
}

async function measure({ way, port, sluice, crowd, ready, master, revoked, tokenId }: Measuring): Promise<void> {
  const stop = new AbortController()
  const direct = arrivals()
  const probes = Array.from({ length: PROBES }, arrivals)
  const probing = [
    play({
      port: Number(new URL(ready.base).port),
      address: '127.0.8.1',
      master,
      stop: stop.signal,
      onRequest: direct.ask,
      onAnswer: direct.note,
    }),
    ...probes.map(({ ask, note }, n) =>
      play({ port, address: `127.0.8.${n + 2}`, master, stop: stop.signal, onRequest: ask, onAnswer: note }),
    ),
  ].map((each) => each.catch((error: unknown) => console.error(`a probe ended: ${String(error)}`)))
  await sluice.ask<Origin>({})
  const watching = crowd.ask<Watched>({ port, master, revoked, players: PLAYERS, seconds: SECONDS } satisfies Crowd)
  await sleep(JOIN_MS + SECONDS * 1000)
  const load = loadavg()
    .map((each) => each.toFixed(1))
    .join(' ')
  const { atMs } = await sluice.ask<{ atMs: number }>({ revoke: tokenId })
  const watched = await watching
  stop.abort()
  await Promise.all(probing)
  const { requests } = await sluice.ask<Origin>({})
  const share = Math.round((100 * watched.requests) / (2 * PLAYERS * direct.asked.part.size))
  const pace = `a player got ${share}% of the parts of the time`
  console.log(`\n${PLAYERS} players ${NAMES[way]}, load ${load}, ${pace}: ${JSON.stringify(requests)} at Sluice`)
  reportCrowd(way, watched, direct.hashes)
  if (way !== 'direct') reportOrigin({ way, watched, origin: requests, direct, probes })
  reportLag(
    way,
    direct.atMs,
    probes.map((probe) => probe.atMs),
  )
  reportRevocation(way, watched.lastMs, atMs)
}

/** When a probe got each part, and its bytes. */
function arrivals() {
  const [atMs, hashes] = [new Map<string, number>(), new Map<string, string>()]
  const asked = { part: new Set<string>(), playlist: new Set<string>() }
  const ask = (kind: 'playlist' | 'part', name: string): void => void asked[kind].add(name)
  const note = (kind: string, name: string, answer: Answer): void => {
    if (kind !== 'part' || answer.status !== 200) return
    atMs.set(name, answer.atMs)
    hashes.set(name, createHash('sha1').update(answer.body).digest('hex'))
  }
  return { atMs, hashes, asked, ask, note }
}

type Arrivals = ReturnType<typeof arrivals>

function reportCrowd(way: Way, { hashes, failures, requests }: Watched, direct: ReadonlyMap<string, string>): void {
  const compared = Object.entries(hashes).filter(([name]) => direct.has(name))
  const wrong = compared.filter(([name, hash]) => direct.get(name) !== hash).length + failures.length
  for (const failure of failures.slice(0, 5)) console.error(failure)
  report({
    what: `Parts that are not the same bytes ${NAMES[way]}, and refused requests`,
    ratio: wrong,
    target: 'none',
    met: wrong === 0 && compared.length > SECONDS,
    detail: `${compared.length} parts compared, ${requests} requests`,
  })
}

interface Origins {
  readonly way: Way
  readonly watched: Watched
  readonly origin: Origin['requests']
  readonly direct: Arrivals
  readonly probes: readonly Arrivals[]
}

/** Requests at Sluice, but for those of the direct probe, for each name that was requested through the cache. */
function reportOrigin({ way, watched, origin, direct, probes }: Origins): void {
  const kinds = [
    { what: 'parts', names: watched.parts, kind: 'part' },
    { what: 'reloads', names: watched.reloads, kind: 'playlist' },
  ] as const
  let missed = 0
  for (const { what, names, kind } of kinds) {
    const requested = new Set([...names, ...probes.flatMap(({ asked }) => [...asked[kind]])]).size
    const got = (origin[what] ?? 0) - direct.asked[kind].size
    missed += got
    const ratio = got / requested
    const met = Math.abs(ratio - 1) <= 0.02
    const subject = `Requests ${NAMES[way]} to Sluice for each of the ${what}`
    report({ what: subject, ratio, target: '1 +-2%', met, detail: `${got} for ${requested}` })
  }
  const hits = 1 - missed / watched.requests
  const detail = `${watched.requests} requests`
  report({ what: `Hits ${NAMES[way]}`, ratio: hits, target: '>= 0.99', met: hits >= 0.99, detail })
}

function reportLag(
  way: Way,
  direct: ReadonlyMap<string, number>,
  probes: readonly ReadonlyMap<string, number>[],
): void {
  const lags = probes.flatMap((probe) =>
    [...probe].flatMap(([name, atMs]) => {
      const directMs = direct.get(name)
      return directMs === undefined ? [] : [atMs - directMs]
    }),
  )
  const [p50, most] = [median(lags), LAG_MAX_MS[way]]
  if (way === 'direct') return console.log(`Lag between direct probes: p50 ${p50.toFixed(1)} ms`)
  report({
    what: `Added lag of a part ${NAMES[way]}, p50, ms`,
    ratio: p50,
    target: `<= ${most}`,
    met: p50 <= most,
    detail: `${lags.length} parts`,
  })
}

function reportRevocation(way: Way, lastMs: readonly number[], atMs: number): void {
  const late = lastMs.map((ms) => Math.max(0, ms - atMs)).toSorted((a, b) => a - b)
  const [p99, most] = [late.at(-1) ?? Number.NaN, REVOKED_MAX_MS[way]]
  report({
    what: `Last byte ${NAMES[way]} after the token is deleted, p99, ms`,
    ratio: p99,
    target: `<= ${most}`,
    met: p99 <= most && late.length === REVOKED,
    detail: `p50 ${median(late).toFixed(0)} ms, ${late.length} players`,
  })
}
