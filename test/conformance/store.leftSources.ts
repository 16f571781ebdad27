import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { removeLeftSources } from '../../src/commands/channels/leftSources.ts'
import type { RunConfig, Tx } from '../../src/store/store.ts'
import { newChannel, newEngine } from './store.channels.ts'
import { auditRow, newAccount, newRun } from './store.samples.ts'
import type { Stores } from './store.ts'

const AT = 1_760_000_000_000
const KEY = 'stream-key-in-the-path'
const URL = `rtmp://live.example.com/app/${KEY}`

/** As the earlier version wrote them. */
const ingest = (name: string, url?: string) => ({
  name,
  type: 'rtmp-pull',
  region: 'local',
  channelId: 'ch_1',
  ...(url === undefined ? {} : { url }),
})
const configWith = (url: string) =>
  ({ ingest: { type: 'rtmp-pull', url }, abrLadderId: 'ab_default', drm: false }) as RunConfig

/** Time of the deliveries, which are checked once, in the order of their times. */
const TOLD_AT = AT + 7_200_000

const words = (message: string) => ({ object: { type: 'engine', id: 'en_1', name: 'a ://' }, data: { message } })

/** Rows that servers of the earlier version have left, and still write while they run beside this one. */
export function leftSourcesSuite(stores: Stores): void {
  const write = <T>(work: (tx: Tx) => Promise<T>) => stores.store.transaction(work)
  const clean = (atMs = AT + 3_600_000) => removeLeftSources({ store: stores.other, clock: new ManualClock(atMs) })

  async function audit(accountId: string, action: string, before: object | null, after: object | null): Promise<void> {
    const states = { before: before && JSON.stringify(before), after: after && JSON.stringify(after) }
    await write((tx) => tx.audit.append({ ...auditRow(accountId, 'in_1'), action, ...states }))
  }
  const audited = async (accountId: string) =>
    (await stores.store.read.audit.recent(accountId, 1000)).map(({ action, before, after }) => [action, before, after])

  describe('sources that earlier versions stored', () => {
    test('are removed from audit rows, repeatedly, and nothing else is', async () => {
      const accountId = newAccount()
      const named = ingest('a ,"url": b')
      for (let n = 0; n < 201; n += 1) await audit(accountId, 'ingest.updated', ingest('x', URL), ingest('y', URL))
      await audit(accountId, 'ingest.deleted', ingest('x', URL), null)
      await audit(accountId, 'ingest.created', null, named)
      await audit(accountId, 'webhook.updated', { name: 'w', url: 'https://a.example/' }, null)
      await clean()
      const rows = await audited(accountId)
      expect(rows.slice(0, 3)).toEqual([
        ['webhook.updated', JSON.stringify({ name: 'w', url: 'https://a.example/' }), null],
        ['ingest.created', null, JSON.stringify(named)],
        ['ingest.deleted', JSON.stringify(ingest('x')), null],
      ])
      expect(JSON.stringify(rows)).not.toContain(KEY)
      expect(rows.at(-1)).toEqual(['ingest.updated', JSON.stringify(ingest('x')), JSON.stringify(ingest('y'))])
      // A server of the earlier version still runs.
      await audit(accountId, 'ingest.updated', ingest('x', URL), ingest('z', URL))
      await clean()
      expect((await audited(accountId))[0]).toEqual([
        'ingest.updated',
        JSON.stringify(ingest('x')),
        JSON.stringify(ingest('z')),
      ])
    })

    test('are removed from runs, which are otherwise unchanged', async () => {
      const run = newRun({ config: configWith(URL) })
      await write((tx) => tx.runs.insert(run))
      await Promise.all([clean(), clean()])
      expect(await stores.store.read.runs.page({ engineId: run.engineId, limit: 2 })).toEqual([
        { ...run, config: { ingest: { type: 'rtmp-pull' }, abrLadderId: 'ab_default', drm: false } },
      ])
    })

    test('are removed from messages of ffmpeg', async () => {
      const channel = newChannel({ accountId: newAccount() })
      const statusMessage = `the source does not answer: rtmp://192.0.2.1/app/${KEY}: Input/output error`
      const engine = newEngine(channel, { status: 'waiting', statusMessage })
      const id = `${AT}${randomBytes(4).toString('hex')}`
      const event = { type: 'live', event: 'engine.log.warn', subject: null, error: null, createdAtMs: TOLD_AT }
      const delivery = { ...event, eventId: id, webhookId: 1, accountId: channel.accountId, state: 'skipped' as const }
      const eventOf = (message: string) => JSON.stringify(words(message))
      const payload = { body: Buffer.from(eventOf(statusMessage)), contentType: 'application/json', headers: {} }
      await write(async (tx) => {
        await tx.channels.insert(channel)
        await tx.engines.insert(engine)
        await tx.deliveries.insert([
          { ...delivery, id: `${id}a`, data: eventOf(statusMessage) },
          { ...delivery, id: `${id}b`, data: eventOf('said "rtmp://192.0.2.1/app/x"') },
        ])
        await tx.deliveries.insert([{ ...delivery, id: `${id}c`, data: '', state: 'pending' }])
        await tx.deliveries.start('n', AT, [{ id: `${id}c`, payload }])
      })
      await clean(TOLD_AT + 3_600_000)
      const expected = 'the source does not answer: the source: Input/output error'
      const { statusMessage: left } = (await stores.store.read.engines.get(channel.accountId, engine.id)) ?? {}
      expect(left).toBe(expected)
      const sent = await stores.store.read.deliveries.payload(`${id}c`)
      expect(Buffer.from(sent?.body ?? []).toString()).toBe(eventOf(expected))
      for (const [end, message] of [
        ['a', expected],
        ['b', 'said "the source"'],
      ] as const) {
        const again = `${id}${end}again`
        await write((tx) => tx.deliveries.redeliver({ of: `${id}${end}`, id: again, atMs: AT }))
        const claimed = await write((tx) => tx.deliveries.claim({ webhookId: 1, take: 1, cap: 9 }))
        expect(claimed.map(({ data }) => data)).toEqual([eventOf(message)])
        await write((tx) => tx.deliveries.start('n', AT, [{ id: again, payload }]))
      }
    })
  })
}
