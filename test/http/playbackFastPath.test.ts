import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { DistributionAdmissions } from '../../src/edge/http/channels/distributionAdmissions.ts'
import type { Answer } from '../support/app.ts'
import { playbackFolder } from '../support/playbackFolder.ts'
import { servedBy } from '../support/served.ts'
import { StagedEngine } from '../support/stagedEngine.ts'
import { alike as ofOneServer, RawConnection } from '../support/rawConnection.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'

/** With 50 frames in a segment, enough for the addon. */
const SMALL_FRAME = 1000
/** With 50 frames in a segment, more than the buffers of a connection whose client does not read. */
const LARGE_FRAME = 160 * 1024

const CHANNEL = {
  name: 'stage',
  ingests: [{ name: 'i', type: 'rtmp-push', engines: [{ name: 'e' }] }],
  distributions: [{ name: 'web' }, { name: 'counted' }, { name: 'broken' }],
}

interface Stage {
  client: ChannelsClient
  engine: StagedEngine
  /** The ids of the distributions. */
  ids: string[]
  /** The URL of a piece through a distribution. */
  at: (file: string, distributionId?: string) => string
}

async function staged(client: ChannelsClient, frameBytes: number): Promise<Stage> {
  const { engines, distributions } = await client.made('POST', '/channels', CHANNEL)
  const ids = distributions.map(({ id }: { id: string }) => id)
  const [{ id }] = engines
  const engine = new StagedEngine(client.running.app.channelStreams, id, { frameBytes }).begin().play(3)
  const folders = await Promise.all(ids.map((each: string) => playbackFolder(client.running.base, each, id)))
  return { client, engine, ids, at: (file, of = ids[0]) => `${folders[ids.indexOf(of)]}/${file}` }
}

/** The names of a segment, of its first part, and of its init segment. */
function names({ engine }: Stage, at = 0): [segment: string, part: string, init: string] {
  const segment = engine.stream.facts('0')?.segments[at]
  return [`s${segment?.n}.m4s`, `p${segment?.parts[0]?.n}.m4s`, `init-${segment?.init}.mp4`]
}

const alike = ({ status, headers, text }: Answer) => {
  const { date: _, 'x-request-id': id, ...others } = Object.fromEntries(headers)
  return { status, headers: others, text, hasId: /^\S{8,}-\w+$/.test(id ?? '') }
}

describe.each([true, false])('with splice: %s,', (splice) => {
  let small: Stage
  let large: Stage
  beforeAll(async () => {
    const live = await runChannels({ flags: { server: { splice } } })
    small = await staged(live, SMALL_FRAME)
    large = await staged(live, LARGE_FRAME)
  })
  afterAll(() => small.client.close())

  const ask = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> =>
    small.client.running.call(method, path, undefined, { authorization: '', ...headers })

  /** The fast path leaves a request with an unknown query to the framework, which ignores the query. */
  const ROUTE = '?via=route'

  const counted = async (id: string | undefined): Promise<number> =>
    (await servedBy(small.client.running.app.ctx.store, id ?? '')).reduce((sum, row) => sum + row.bytesOut, 0)

  /** Of the master playlist, which told where the pieces are. To ask for its head counts nothing. */
  const masterBytes = async (id: string | undefined): Promise<number> =>
    Number((await ask(`/v2/distributions/${id}/hls/main.m3u8`, {}, 'HEAD')).headers.get('content-length'))

  /** An answer with its head received and its body still unread. */
  const begun = async (path: string, { running } = small.client): Promise<IncomingMessage> => {
    const [answer] = (await once(get(`${running.base}${path}`, { agent: false }), 'response')) as [IncomingMessage]
    return answer
  }

  it.each<[string, Record<string, string>, string]>([
    ['the whole', {}, 'GET'],
    ['the head', {}, 'HEAD'],
    ['a range', { range: 'bytes=10-19' }, 'GET'],
    ['a range beyond the end', { range: 'bytes=99999-' }, 'GET'],
  ])('answers as the framework does: %s', async (_name, headers, method) => {
    for (const name of names(small)) {
      const long = await ask(`${small.at(name)}${ROUTE}`, headers, method)
      const short = await ask(small.at(name), headers, method)
      expect(alike(short)).toEqual(alike(long))
      expect(short.status).toBeLessThan(method === 'HEAD' ? 300 : 417)
    }
  })

  it('answers as the framework does on a connection that stays, too, byte for byte', async () => {
    const connection = await RawConnection.to(small.client.running.base)
    for (const name of names(small)) {
      const long = await connection.ask(`${small.at(name)}${ROUTE}`)
      for (let times = 0; times < 2; times++) {
        expect(ofOneServer(await connection.ask(small.at(name)))).toEqual(ofOneServer(long))
      }
    }
    const { head } = await connection.ask(small.at(names(small)[0]))
    expect(head.replace(/(?<=^(?:Date|X-Request-Id): ).*$/gim, '…')).toMatchInlineSnapshot(`
      "HTTP/1.1 200 OK
      Access-Control-Allow-Origin: *
      Access-Control-Expose-Headers: Location, Link, ETag, Accept-Patch, WWW-Authenticate, Retry-After, X-Request-Id, X-Stream-Id
      Cross-Origin-Resource-Policy: cross-origin
      Referrer-Policy: no-referrer
      Accept-Ranges: bytes
      Content-Type: video/mp4
      Cache-Control: public, max-age=3600, immutable
      X-Request-Id: …
      Content-Length: 51272
      Date: …
      Connection: keep-alive
      Keep-Alive: timeout=72"
    `)
  })

  it('sends by the addon what Node need not send', async () => {
    const { addon } = small.client.running.app.segmentMemory
    expect(addon === null).toBe(!splice)
    // From now on memory knows the rules.
    await ask(small.at(names(small)[0]))
    const [send, answer] = [addon && vi.spyOn(addon, 'send'), addon && vi.spyOn(addon, 'answer')]
    onTestFinished(() => {
      send?.mockRestore()
      answer?.mockRestore()
    })
    for (const name of names(small)) {
      const path = small.at(name)
      const connection = await RawConnection.to(small.client.running.base)
      // Node reads the first request of a connection.
      for (let times = 0; times < 2; times++) expect((await connection.ask(path)).status).toBe(200)
      for (const headers of [{ range: 'bytes=10-19' }, { 'content-length': '0' }]) await connection.ask(path, headers)
      const another = await RawConnection.to(small.client.running.base)
      await another.ask(path, {}, 'HEAD')
      await another.ask(`${path}${ROUTE}`)
    }
    const [segment, part, init] = names(small)
    const { stream } = small.engine
    const bytes = [
      stream.piece({ rendition: '0', kind: 'segment', name: segment }),
      stream.piece({ rendition: '0', kind: 'part', name: part }),
      stream.piece({ rendition: '0', kind: 'init', name: init }),
    ]
    const sent = send?.mock.calls.map(([, , each]) => bytes.findIndex((one) => one === each))
    const answered = answer?.mock.calls.map(([, , , , each]) => bytes.findIndex((one) => one?.equals(each)))
    expect([sent, answered]).toEqual(splice ? [[0], [0, 1, 2]] : [undefined, undefined])
  })

  it('leaves a request to the framework when it fails, and the server goes on', async () => {
    // Only the fast path peeks.
    const peek = vi.spyOn(DistributionAdmissions.prototype, 'peek').mockImplementationOnce(() => {
      throw new Error('a fault of the fast path')
    })
    onTestFinished(() => peek.mockRestore())
    expect((await ask(small.at(names(small)[0]))).status).toBe(200)
    expect(peek.mock.results[0]?.type).toBe('throw')
    expect((await ask(small.at(names(small)[0]))).status).toBe(200)
  })

  it('applies changed rules at once', async () => {
    const [segment] = names(small)
    for (let times = 0; times < 3; times++) expect((await ask(small.at(segment))).status).toBe(200)
    const change = (ipBlocking: object) =>
      small.client.made('PATCH', `/distributions/${small.ids[0]}`, { security: { ipBlocking } })
    await change({ enabled: true, mode: 'deny', cidrs: ['127.0.0.0/8'] })
    for (let times = 0; times < 3; times++) expect((await ask(small.at(segment))).status).toBe(403)
    await change({ enabled: false })
    expect((await ask(small.at(segment))).status).toBe(200)
  })

  it('counts every byte that it sends, and for an aborted answer no more than there was', async () => {
    const [, whole, broken] = small.ids
    const cut = large.ids[2]
    const [ofWhole = 0, ofBroken = 0, ofCut = 0] = await Promise.all([whole, broken, cut].map(masterBytes))
    const path = small.at(names(small)[0], whole)
    const { length } = Buffer.from((await ask(path)).text)
    const bytes = Number((await ask(path)).headers.get('content-length'))
    expect(length).toBeGreaterThan(0)
    await Promise.all(Array.from({ length: 18 }, () => ask(path)))
    const [segment] = names(large)
    const aborted = large.at(segment, cut)
    const size = Number((await ask(aborted, {}, 'HEAD')).headers.get('content-length'))
    const answer = await begun(aborted)
    const [chunk] = (await once(answer, 'data')) as [Buffer]
    answer.destroy()
    await expect.poll(() => counted(whole), { timeout: 30_000 }).toBe(ofWhole + 20 * bytes)
    await expect.poll(() => counted(cut), { timeout: 30_000 }).toBeGreaterThanOrEqual(ofCut + chunk.length)
    expect(await counted(cut)).toBeLessThanOrEqual(ofCut + size)
    expect(await counted(broken)).toBe(ofBroken)
  })

  it('sends a segment under way as a whole, even if the engine stops meanwhile', async () => {
    const other = await staged(small.client, LARGE_FRAME)
    const [segment] = names(other)
    const bytes = Buffer.from(other.engine.stream.piece({ rendition: '0', kind: 'segment', name: segment }) ?? '')
    const answers = await Promise.all([begun(other.at(segment)), begun(other.at(segment))])
    other.engine.stream.stop()
    await expect.poll(async () => (await ask(other.at(segment))).status, { timeout: 30_000 }).toBe(404)
    for (const answer of answers) expect((await buffer(answer)).equals(bytes)).toBe(true)
  })

  it('does not delay a stop of the server for long', async () => {
    const client = await runChannels({ flags: { server: { splice, shutdownGraceSeconds: 0 } } })
    const other = await staged(client, LARGE_FRAME)
    const answer = await begun(other.at(names(other)[0]), client)
    await client.close()
    await expect(buffer(answer)).rejects.toThrow()
  })
})
