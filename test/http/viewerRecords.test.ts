import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { timeOrderedId } from '../../src/base/ids.ts'
import { systemRandom } from '../../src/base/random.ts'
import { readViewerRecords } from '../../src/commands/audience/viewerRecords.ts'
import { cliActor } from '../../src/commands/context.ts'
import { forgetViewer } from '../../src/commands/viewers/forget.ts'
import type { Session } from '../../src/core/sessions/types.ts'
import { ending, newSession } from '../conformance/store.samples.ts'
import { type RunningApp, runApp } from '../support/app.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { until } from '../support/until.ts'

const AT = Date.UTC(2026, 0, 31, 12)
const MINUTE_MS = 60_000
/** Of its own: ids of one source only rise. */
const random = { ...systemRandom, bytes: (size: number) => systemRandom.bytes(size) }

describe.each(testedStores())('the records of viewers on %s', (engine) => {
  let place: Place
  let at: RunningApp
  const clock = new ManualClock(AT + 60 * MINUTE_MS)
  const ids: Record<string, string> = {}
  beforeAll(async () => {
    place = await newPlace(engine)
    at = await runApp({ clock, flags: { storage: { url: place.url } } })
    await watched('first', 0, 10, {
      trackingId: 'customer-1',
      country: 'NZ',
      jti: '=1+1',
      customViewerData: 'seat 5',
    })
    await watched('second', 5, 20, { streamName: 'other', protocol: 'hls' })
    await watched('open', 8, null, { client: { device: 'tv', browser: 'AVPlayer' } })
    await watched('publisher', 9, 10, { action: 'publish', protocol: 'whip' })
    await watched('foreign', 9, 10, { accountId: 'others' })
    await watched('last', 30, 31, { trackingId: 'customer-2', customViewerData: 'Ann', address: '203.0.113.9' })
  })
  afterAll(async () => {
    await at.close()
    await place.remove()
  })
  const ctx = () => at.app.ctx

  async function watched(name: string, from: number, until: number | null, over: Partial<Session>): Promise<void> {
    const startedAtMs = AT + from * MINUTE_MS
    const id = timeOrderedId(startedAtMs, random)
    ids[name] = id
    const session = newSession({ accountId: at.accountId, streamName: 'show', ...over, id, startedAtMs })
    await ctx().store.transaction((tx) => tx.sessions.insert(session, 'n'))
    const end = until === null ? [] : [{ ...ending(id, AT + until * MINUTE_MS, 'left'), bytesIn: 0, bytesOut: 100 }]
    await ctx().store.transaction((tx) => tx.sessions.end(end))
  }

  async function ask(method: string, path: string, body?: object, accept = 'application/x-jsonl'): Promise<string> {
    const answer = await at.call(method, path, body, { accept })
    expect(answer.headers.get('content-type')).toContain(accept)
    return answer.text
  }
  const namesOf = (lines: string): string[] =>
    lines
      .split('\n')
      .slice(0, -1)
      .map((line) => Object.keys(ids).find((name) => ids[name] === JSON.parse(line).recordId) ?? line)
  const names = async (query = '') => namesOf(await ask('GET', `/api/reports/viewers?${query}`))
  const asked = async (version: string, body: object) =>
    namesOf(await ask('POST', `/api${version}/records/viewers`, body))

  it('are a line for each connection, oldest first, of this account alone', async () => {
    const lines = (await ask('GET', '/api/reports/viewers')).split('\n').filter((line) => line !== '')
    expect(namesOf(`${lines.join('\n')}\n`)).toEqual(['first', 'second', 'open', 'last'])
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      recordId: ids['first'],
      previousRecordId: null,
      startTime: '2026-01-31T12:00:00.000Z',
      endTime: '2026-01-31T12:10:00.000Z',
      duration: 600,
      bytes: 100,
      clientId: '=1+1',
      clusterId: 'auto',
      country: 'NZ',
      ipAddress: '192.0.2.1',
      userAgent: null,
      streamName: 'show',
      trackingId: 'customer-1',
      customViewerData: 'seat 5',
      protocol: 'whep',
      site: null,
      device: null,
      browser: null,
      endReason: 'left',
      reportedBy: null,
      startSeconds: null,
      startFailure: null,
      playedSeconds: null,
      stalls: null,
      stalledSeconds: null,
      behindSeconds: null,
      droppedPercent: null,
      height: null,
    })
    const open = { endTime: null, duration: 52 * 60, device: 'tv', browser: 'AVPlayer', endReason: null }
    expect(JSON.parse(lines[2] ?? '')).toMatchObject(open)
  })

  it('come by stream, tracking id, start, end and state, and page by page after a record', async () => {
    expect(await names('streamName=other&streamName=none')).toEqual(['second'])
    expect(await names('trackingId=customer-1&trackingId=customer-2')).toEqual(['first', 'last'])
    expect(await names('trackingId=')).toEqual(['second', 'open'])
    expect(await names('startedAfter=2026-01-31T12:05:00Z&startedBefore=2026-01-31T12:30:00Z')).toEqual([
      'second',
      'open',
    ])
    expect(await names('completedAfter=2026-01-31T12:20:00Z&search=completed')).toEqual(['second', 'last'])
    expect(await names('completedBefore=2026-01-31T12:20:00Z')).toEqual(['first', 'open'])
    expect(await names('search=Ongoing')).toEqual(['open'])
    expect(await names('search=Ongoing&search=Ongoing&SEARCH=Ongoing&limit=1&limit=1')).toEqual(['open'])
    const pages: string[][] = [await names('limit=3')]
    pages.push(await names(`limit=3&after=${ids['open']}`), await names(`after=${ids['last']}`))
    expect(pages).toEqual([['first', 'second', 'open'], ['last'], []])
  })

  it('come as hosted services are asked, in both versions, to the millisecond', async () => {
    const [startTime, endTime] = ['2026-01-31T12:05:00Z', '2026-01-31T12:31:00Z']
    expect(await asked('', { startTime, search: 'Completed', endTime })).toEqual(['second'])
    expect(
      await asked('', { startTime, startOperator: 'GreaterThan', endTime, endOperator: 'LessThanOrEqualTo' }),
    ).toEqual(['open', 'last'])
    expect(await asked('', { startTime, startOperator: 'LessThan', trackingIds: null })).toEqual(['first'])
    expect(await asked('', { trackingIds: [null, 'customer-2'], streamNames: ['show'] })).toEqual(['open', 'last'])
    const completed = { search: 'Completed', completedAfter: '2026-01-31T12:10:00Z', completedBefore: endTime }
    expect(await asked('/v2', completed)).toEqual(['first', 'second'])
    expect(await asked('/v2', { ...completed, completedAfterOperator: 'GreaterThan' })).toEqual(['second'])
    expect(await asked('/v2', { startedBefore: startTime, startedBeforeOperator: 'LessThanOrEqualTo' })).toEqual([
      'first',
      'second',
    ])
  })

  it('come as CSV, in which no cell is a formula', async () => {
    const [head, first, , , , last] = (await ask('GET', '/api/reports/viewers', undefined, 'text/csv')).split('\r\n')
    expect(head).toMatch(
      /^recordId,previousRecordId,startTime,endTime,duration,bytes,clientId,clusterId,country,ipAddress,/,
    )
    expect(first?.split(',').slice(2).join()).toBe(
      '2026-01-31T12:00:00.000Z,2026-01-31T12:10:00.000Z,600,100,"\'=1+1",auto,NZ,192.0.2.1,,show,customer-1,"seat 5",whep,,,,left,,,,,,,,,',
    )
    expect(last).toBe('')
  })

  it('are read as they are taken: a client that has one page has cost one page', async () => {
    let reads = 0
    const [row] = await ctx().store.read.audience.range({
      accountId: at.accountId,
      after: '',
      before: ids['second'] ?? '',
      limit: 1,
    })
    // As if there were pages without an end.
    const range = async ({ limit }: { limit: number }) => {
      reads += 1
      return Array.from({ length: limit }, () => row as NonNullable<typeof row>)
    }
    const some = { ...ctx(), store: { read: { audience: { range } } } }
    const records = readViewerRecords(some, at.accountId, 'query', {})
    if (!records.ok) throw new Error(JSON.stringify(records.error))
    expect((await records.value.next()).value).toHaveLength(2_000)
    expect(reads).toBe(1)
    await records.value.return()
  })

  it('are read twice at once by one account, and a download that was broken off or is over makes room', async () => {
    const { audience } = ctx().store.read
    const read = audience.range.bind(audience)
    const held: (() => void)[] = []
    const spy = vi.spyOn(audience, 'range').mockImplementation(async (query) => {
      if (held.length < 2) await new Promise<void>((resolve) => held.push(resolve))
      return read(query)
    })
    const path = '/api/reports/viewers'
    const gone = new AbortController()
    try {
      const headers = { authorization: `Bearer ${at.secret}` }
      const broken = fetch(`${at.base}${path}`, { headers, signal: gone.signal }).then((answer) => answer.text())
      const isBroken = expect(broken).rejects.toThrow()
      await until(() => held.length === 1)
      const other = at.call('GET', path)
      await until(() => held.length === 2)
      const refused = await at.call('GET', path)
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10'])
      expect(refused.json.data.message).toContain('2 downloads')
      gone.abort()
      await isBroken
      held[0]?.()
      await until(async () => (await at.call('GET', `${path}?limit=1`)).status === 200)
      held[1]?.()
      expect(namesOf((await other).text)).toHaveLength(4)
    } finally {
      spy.mockRestore()
      for (const release of held) release()
    }
    expect(await names('limit=1')).toEqual(['first'])
  })

  it('refuses what it cannot answer, each with its name', async () => {
    const errors = async (method: string, path: string, body?: object) =>
      Object.keys((await at.call(method, path, body)).json.data.errors)
    expect(await errors('GET', '/api/reports/viewers?startedAfter=2026-02-30&search=all&limit=0&after=%20')).toEqual([
      'startedAfter',
      'search',
      'after',
      'limit',
    ])
    expect(await errors('POST', '/api/records/viewers', { startTime: 1, endOperator: 'Near', streams: [] })).toEqual([
      'streams',
      'startTime',
      'endOperator',
    ])
    expect(
      await errors('POST', '/api/v2/records/viewers', { startedAfterOperator: 'LessThan', streamNames: [] }),
    ).toEqual(['startedAfterOperator', 'streamNames'])
  })

  it('have nothing of a viewer that was forgotten, except that it was there', async () => {
    await forgetViewer(ctx(), cliActor(at.accountId), { address: '203.0.113.9' }, false)
    const lines = (await ask('GET', '/api/reports/viewers')).split('\n')
    const known = { ipAddress: null, trackingId: null, customViewerData: null }
    const last = { ...known, recordId: ids['last'], bytes: 100, streamName: 'show' }
    expect(JSON.parse(lines[3] ?? '')).toMatchObject(last)
  })
})
