import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isRunning } from '../../src/base/processes.ts'
import { eventsOf, type TestNode, makeToken, publish, startTestNode, tryToView, view } from '../support/testNode.ts'
import { until } from '../support/until.ts'
import { crowd } from '../support/crowd.ts'
import { newDirectory, sluice } from './cliProcess.ts'
import { expireLease } from '../support/leases.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'

const FEEDS = 3

interface Report {
  pid: number
  sessions: string[]
  bytes: number
}

/** Runs a server with live sessions, kills it without warning, and returns its last report. */
async function runAndKill(url: string, place: string): Promise<Report> {
  const script = new URL('../support/nodeProcess.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [script, url, place, String(FEEDS)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const reports: Report[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    reports.push(JSON.parse(line) as Report)
    if (reports.length === 3) child.kill('SIGKILL')
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  const last = reports.at(-1)
  if (!last) throw new Error('the server printed nothing')
  return last
}

describe.each(testedStores())('a server on %s that is killed', (engine) => {
  let place: Place
  beforeEach(async () => {
    place = await newPlace(engine)
  })
  afterEach(() => place.remove())

  async function expectClosed(at: TestNode, { sessions, bytes }: Report, beforeMs: number): Promise<void> {
    const events = await eventsOf(at)
    const dataOf = (name: string) => events.filter((event) => event.name === name).map(({ data }) => data)
    expect(new Set(dataOf('feeds started').map(({ feedId }) => feedId)).size).toBe(FEEDS)
    const feedsOf = (name: string) =>
      dataOf(name)
        .map(({ feedId }) => String(feedId))
        .toSorted((a, b) => a.localeCompare(b))
    expect(feedsOf('feeds ended')).toEqual(feedsOf('feeds started'))
    for (const { started, ended } of dataOf('feeds ended')) {
      expect(Number(ended)).toBeGreaterThanOrEqual(Number(started))
      expect(Number(ended)).toBeLessThanOrEqual(beforeMs)
    }
    for (const id of sessions) {
      const stored = await at.ctx.store.read.sessions.get(id)
      expect(stored).toMatchObject({ endReason: 'lost', endedAtMs: expect.any(Number) })
      expect(stored?.bytesIn).toBeGreaterThanOrEqual(bytes)
    }
    expect(await at.ctx.store.read.feeds.remote('', 10)).toEqual([])
    expect(await at.ctx.store.read.nodes.list()).toHaveLength(1)
  }

  it('leaves feeds that its next start ends, each with one event and the last known time', async () => {
    const report = await runAndKill(place.url, 'the same place')
    const killedMs = Date.now()
    const next = await startTestNode({ url: place.url, hostKey: 'the same place', isRunning })
    await expectClosed(next, report, killedMs)
    await next.node.sweep()
    await next.close()
    const again = await startTestNode({ url: place.url, hostKey: 'the same place', isRunning })
    await expectClosed(again, report, killedMs)
    await again.close()
  })

  it('is given up by another node when its lease has expired, and by one only', async () => {
    const report = await runAndKill(place.url, 'one place')
    const killedMs = Date.now()
    const others = [
      await startTestNode({ url: place.url, hostKey: 'other', isRunning }),
      await startTestNode({ url: place.url, hostKey: 'third', isRunning }),
    ] as const
    await until(async () => {
      await Promise.all(others.map(({ node }) => node.sweep()))
      return (await others[0].ctx.store.read.nodes.list()).length === 2
    })
    await others[1].close()
    await expectClosed(others[0], report, killedMs)
    await others[0].close()
  })
})

describe.each(testedStores('SQLite'))('the command line beside a server on %s', (engine) => {
  it('lists and ends the sessions of a running server on the same file', async () => {
    const place = await newPlace(engine)
    const at = await startTestNode({ url: place.url })
    const env = {
      SLUICE_STORAGE_URL: place.url,
      SLUICE_DATA_DIR: newDirectory(),
      SLUICE_SECRETS_SEALING_KEY: SEALING_KEY,
    }
    const { token } = await makeToken(at, 'publish')
    const publisher = await publish(at, { presented: token })
    const viewer = await view(at)
    const listed = async (...flags: string[]) => {
      const { stdout } = await sluice(['session', 'list', '--json', ...flags], { env })
      return (JSON.parse(stdout) as { id: string }[]).map(({ id }) => id)
    }
    expect(await listed()).toEqual([viewer.session.id, publisher.session.id])
    expect(await listed('--limit', '1')).toEqual([viewer.session.id])
    expect(await listed('--stream', 'show', '--action', 'publish')).toEqual([publisher.session.id])
    expect(await listed('--stream', 'another')).toEqual([])
    expect(await sluice(['session', 'end', viewer.session.id], { env })).toMatchObject({ status: 0 })
    await until(() => viewer.cuts.length > 0)
    expect(publisher.cuts).toEqual([])
    expect(await sluice(['stream', 'stop', 'show'], { env })).toMatchObject({ status: 0 })
    await until(() => publisher.cuts.length > 0)
    expect(await sluice(['session', 'end', 'nobody'], { env })).toMatchObject({ status: 1 })
    await at.close()
    await place.remove()
  })
})

describe.each(testedStores('PostgreSQL'))('two nodes on one %s', (engine) => {
  let place: Place
  let one: TestNode
  let two: TestNode
  beforeEach(async () => {
    place = await newPlace(engine)
    one = await startTestNode({ url: place.url })
    two = await startTestNode({ url: place.url, renewed: true })
  })
  afterEach(async () => {
    await one.close()
    await two.close()
    await place.remove()
  })

  it('end the sessions of a token that the other one deletes, and no others', async () => {
    const [taken, kept] = [await makeToken(one, 'publish'), await makeToken(one, 'publish')]
    const gone = await Promise.all(
      Array.from({ length: 20 }, (_, n) => publish(two, { presented: taken.token, streamName: `gone${n}` })),
    )
    const stays = await publish(two, { presented: kept.token, streamName: 'stays' })
    await one.call('DELETE', `/api/publish_token/${taken.id}`)
    await until(() => gone.every(({ cuts }) => cuts.length > 0))
    expect(gone.map(({ cuts }) => cuts)).toEqual(gone.map(() => ['token_deleted']))
    expect(stays.cuts).toEqual([])
  })

  it('end a session at the other one, and a whole stream, on request', async () => {
    const { token } = await makeToken(one, 'publish')
    const publisher = await publish(two, { presented: token })
    const viewers = [await view(two), await view(two)] as const
    const listed = (await one.call('GET', '/api/sessions')).json.data as { id: string }[]
    expect(listed).toHaveLength(3)
    expect((await one.call('DELETE', `/api/sessions/${viewers[0].session.id}`)).status).toBe(200)
    await until(() => viewers[0].cuts.length > 0)
    expect([publisher.cuts, viewers[0].cuts, viewers[1].cuts]).toEqual([[], ['kicked'], []])
    await one.call('POST', '/api/stream/stop', { streamId: `${one.accountId}/show` })
    await until(() => publisher.cuts.length > 0 && viewers[1].cuts.length > 0)
  })

  it('find a feed of the other one that exceeds the memory limit', async () => {
    const { token } = await makeToken(one, 'publish')
    await publish(two, { presented: token })
    one.ctx.sessions.feeds.setRemote([], false)
    expect(await tryToView(one)).toMatchObject({ status: 409, code: 'at_another_node' })
    expect(await tryToView(one, { streamName: 'other' })).toMatchObject({ status: 409, code: 'stream_not_published' })
    const isLive = async (streamName: string) => {
      const question = { action: 'view', protocol: 'whep', streamName, ip: '192.0.2.1' }
      return (await one.call('POST', '/api/access/check', question)).json.data.live as boolean
    }
    expect([await isLive('show'), await isLive('other')]).toEqual([true, false])
  })

  it('give up a node with thousands of sessions in batches, with one end of each feed', async () => {
    const { token } = await makeToken(one, 'publish')
    await publish(two, { presented: token })
    await crowd(two.ctx, two.accountId, 'show', 2_500)
    const dead = two.ctx.sessions.node
    await until(async () => {
      await expireLease(place.url, dead)
      await Promise.all([one.node.sweep(), one.node.sweep()])
      return (await one.ctx.store.read.nodes.list()).every(({ id }) => id !== dead)
    })
    expect(await one.ctx.store.read.sessions.count({ accountId: two.accountId, streamName: 'show' })).toBe(0)
    expect((await eventsOf(one)).map(({ name }) => name)).toEqual(['feeds started', 'feeds ended'])
  })

  it('see what is on the air at the other one, and keep only the later of two publishers', async () => {
    const { token } = await makeToken(one, 'publish')
    const first = await publish(two, { presented: token })
    const question = { action: 'view', protocol: 'whep', streamName: 'show', ip: '192.0.2.1' }
    const isLive = async () => (await one.call('POST', '/api/access/check', question)).json.data.live as boolean
    await until(isLive)
    // Its media is at the other node, so it cannot be viewed here.
    expect(await tryToView(one)).toMatchObject({ status: 409 })
    const second = await publish(one, { presented: token })
    await until(() => first.cuts.length > 0)
    expect([first.cuts, second.cuts]).toEqual([['replaced'], []])
    await until(() => two.ctx.sessions.leaving.size === 0)
    const feeds = (await eventsOf(one)).filter(({ name }) => name.startsWith('feeds'))
    expect(feeds.map(({ name }) => name)).toEqual(['feeds started', 'feeds ended', 'feeds started'])
    expect(Number(feeds[2]?.data['started'])).toBeGreaterThan(Number(feeds[1]?.data['ended']))
  })

  it('end all their sessions when other nodes have given them up, and serve again', async () => {
    const { token } = await makeToken(one, 'publish')
    const publisher = await publish(two, { presented: token })
    const taken = two.ctx.sessions.node
    const names = async () => (await eventsOf(one)).map(({ name }) => name)
    await until(async () => {
      // Unless it is renewed between the two.
      await expireLease(place.url, taken)
      await one.node.sweep()
      return (await names()).length > 1
    })
    // It has no id until it has registered again.
    await until(() => publisher.cuts.length > 0 && !['', taken].includes(two.ctx.sessions.node))
    expect(publisher.cuts).toEqual(['lost'])
    expect(await names()).toEqual(['feeds started', 'feeds ended'])
    await publish(two, { presented: token })
  })
})
