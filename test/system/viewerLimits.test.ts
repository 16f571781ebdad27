import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { encoded } from '../media/ffmpeg/frames.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { broadcast } from '../support/broadcast.ts'
import { ownPort } from '../support/ownPort.ts'
import { newPlace, type Place } from '../support/place.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { makeToken, publish, startTestNode, type TestNode, tryToView } from '../support/testNode.ts'
import { until } from '../support/until.ts'
import { endServers, newDirectory, serve, type Served } from './cliProcess.ts'

const LIMIT = 20
const AT_ONCE = 200
const ROUNDS = 20

let place: Place
const nodes: TestNode[] = []
let tokenId: number
let token: string
const node = (n: number): TestNode => nodes[n % nodes.length] as TestNode

beforeAll(async () => {
  place = await newPlace('PostgreSQL')
  for (let n = 0; n < 2; n++) nodes.push(await startTestNode({ url: place.url }))
  const { token: presented } = await makeToken(node(0), 'publish')
  for (const [n, at] of nodes.entries()) await publish(at, { presented, sourceId: `${n}` })
  const made = await makeToken(node(0), 'subscribe', { maxViewers: LIMIT })
  tokenId = made.id
  token = made.token
})
afterAll(async () => {
  for (const one of nodes) await one.close()
  await place.remove()
})

const watch = async (n: number) => {
  const at = node(n)
  const sourceId = `${n % 2}`
  const answer = await tryToView(
    at,
    { presented: token, ip: `198.51.${n}.1` },
    { sourceId, cut: async () => undefined },
  )
  if (!answer.ok) expect(answer).toMatchObject({ status: 429, code: 'viewer_limit' })
  return answer.ok ? { at, id: answer.session.id } : null
}
const crowd = async () => {
  const answers = await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => watch(n)))
  return answers.filter((one) => one !== null)
}
const count = () => node(0).ctx.store.read.viewerSeats.count(`token/${tokenId}`)

it(`of ${AT_ONCE} viewers who come to two nodes at once, ${LIMIT} are admitted, in each of ${ROUNDS} rounds`, async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const admitted = await crowd()
    expect(admitted).toHaveLength(LIMIT)
    expect(await count()).toBe(LIMIT)
    await Promise.all(admitted.map(({ at, id }) => closeSession(at.ctx, id, 'left')))
    expect(await count()).toBe(0)
  }
})

describe('over HLS at two servers', () => {
  let shared: Place
  let owner: RunningApp
  let other: Served
  beforeAll(async () => {
    shared = await newPlace('PostgreSQL')
    const port = await ownPort()
    const server = { port, nodeUrl: `http://127.0.0.1:${port}` }
    const flags = { storage: { url: shared.url }, secrets: { sealingKey: SEALING_KEY }, server }
    owner = await runApp({ flags, engine: new ScriptedEngine() })
    other = await serve(['--data', newDirectory()], {
      SLUICE_STORAGE_URL: shared.url,
      SLUICE_SECRETS_SEALING_KEY: SEALING_KEY,
    })
    const recorded = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, size: '320x180' })
    await broadcast(owner, recorded)
  })
  afterAll(async () => {
    endServers()
    await owner?.close()
    await shared.remove()
  })

  const limited = () => makeToken(owner, 'subscribe', { maxViewers: 1 })
  const master = (base: string, presented: string) =>
    fetch(`${base}/hls/${owner.accountId}/show/index.m3u8?auth=${presented}`)
  /** The path of the playlist of a new viewer. */
  const comes = async (presented: string): Promise<string> => {
    const answer = await until(async () => {
      const found = await master(other.url, presented)
      return found.ok && found
    }, 'a stream that the other node knows')
    return new URL(/^[^#\s]+$/m.exec(await answer.text())?.[0] ?? '', answer.url).pathname
  }

  it('a viewer whom a balancer sends to both has one seat, and others get 429 with Retry-After', async () => {
    const { token: presented } = await limited()
    const playlist = await comes(presented)
    for (const base of [other.url, owner.base, other.url]) expect((await fetch(base + playlist)).status).toBe(200)
    for (const base of [other.url, owner.base]) {
      const refused = await master(base, presented)
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10'])
      expect(await refused.text()).toBe('Too many viewers')
    }
  })

  it('seats of a server that was killed are free when the others give it up', async () => {
    const { token: presented } = await limited()
    expect((await fetch(other.url + (await comes(presented)))).status).toBe(200)
    expect((await master(owner.base, presented)).status).toBe(429)
    other.signal('SIGKILL')
    await until(async () => (await master(owner.base, presented)).status === 200)
    expect(await owner.app.ctx.store.read.nodes.list()).toHaveLength(1)
  })
})
