import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { recordingsHostKey } from '../../src/app/packager.ts'
import { ManualClock } from '../../src/base/clock.ts'
import { DAY_MS, HOUR_MS } from '../../src/base/time.ts'
import { expireRecordings } from '../../src/commands/recordings/expire.ts'
import { completeRecording, failRecording } from '../../src/commands/recordings/lifecycle.ts'
import { coded, say } from '../../src/core/notices.ts'
import type { StoredRecording } from '../../src/store/store.ts'
import { newRecording } from '../conformance/store.recordings.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { makeToken } from '../support/testNode.ts'

const EXPIRATION = '/api/v3/account/media/expiration'
const FILE = { bytes: 3, durationMs: 1000, tracks: [] }

let sluice: RunningApp
beforeAll(async () => {
  sluice = await runApp({ engine: new ScriptedEngine() })
})
afterAll(() => sluice.close())

const folderOf = (id: string): string => join(sluice.dataDir, 'recordings', id)

/** A recording with a file. Returns its id. */
async function recorded(over: Partial<StoredRecording>): Promise<string> {
  const { app, accountId } = sluice
  const recording = newRecording({ accountId, hostKey: recordingsHostKey(app.config), ...over })
  await app.ctx.store.transaction((tx) => tx.recordings.insert(recording))
  mkdirSync(folderOf(recording.id), { recursive: true })
  writeFileSync(join(folderOf(recording.id), 'recording.mp4'), 'abc')
  return recording.id
}

const read = async (id: string) => (await sluice.call('GET', `/api/recordings/${id}`)).json.data

it('recordings whose days are over are deleted once, with their files and an audit row; others stay', async () => {
  const { ctx } = sluice.app
  const now = ctx.clock.now()
  // Later than the server's own look, which may come at any moment.
  const expired = { expiresAtMs: now + HOUR_MS }
  const gone = await recorded({ state: 'completed', ...expired })
  const failed = await recorded({ state: 'error', ...expired })
  const later = await recorded({ state: 'completed', expiresAtMs: now + DAY_MS })
  const kept = await recorded({ state: 'completed' })
  // Two nodes at once.
  const node = { ...ctx, clock: new ManualClock(now + 2 * HOUR_MS) }
  const counts = await Promise.all([expireRecordings(node), expireRecordings(node)])
  expect(counts.reduce((sum, one) => sum + one)).toBe(2)
  const list = (await sluice.call('GET', '/api/recordings')).json.data as { id: string; expiresOn?: string }[]
  expect(new Map(list.map(({ id, expiresOn }) => [id, expiresOn]))).toEqual(
    new Map([
      [later, new Date(now + DAY_MS).toISOString()],
      [kept, undefined],
    ]),
  )
  const rows = await ctx.store.read.audit.page({ accountId: sluice.accountId, action: 'recording.delete', limit: 10 })
  expect(rows.map(({ actor, subject }) => [actor, subject])).toEqual(
    expect.arrayContaining([gone, failed].map((id) => [{ kind: 'retention' }, id])),
  )
  expect(rows).toHaveLength(2)
  // A deletion over the API removes the files of all that are deleted, as the node does every 30 seconds.
  expect((await sluice.call('DELETE', `/api/recordings/${kept}`)).status).toBe(200)
  expect([gone, failed, kept, later].map((id) => existsSync(folderOf(id)))).toEqual([false, false, false, true])
})

it('the days of an account count from when a recording is complete, for those that get complete later', async () => {
  const { ctx } = sluice.app
  const [before, during, failed, after] = await Promise.all(
    Array.from({ length: 4 }, () => recorded({ state: 'processing', endedAtMs: 1, node: ctx.sessions.node })),
  )
  expect((await sluice.call('DELETE', `/api/recordings/${before}`)).status).toBe(409)
  await completeRecording(ctx, before ?? '', FILE)
  const set = { recordings: { days: 30 } }
  const shown = { timelines: null, recordings: { days: 30 }, clips: null }
  expect((await sluice.call('PUT', EXPIRATION, set)).json.data).toEqual(shown)
  expect((await sluice.call('GET', EXPIRATION)).json.data).toEqual(shown)
  const from = ctx.clock.now() + 30 * DAY_MS
  await completeRecording(ctx, during ?? '', FILE)
  await failRecording(ctx, failed ?? '', say(coded('recording_empty')))
  const until = ctx.clock.now() + 30 * DAY_MS
  expect((await sluice.call('PUT', EXPIRATION, {})).json.data).toEqual({ ...shown, recordings: null })
  await completeRecording(ctx, after ?? '', FILE)
  for (const id of [before, after]) expect(await read(id ?? '')).not.toHaveProperty('expiresOn')
  for (const id of [during, failed]) {
    const atMs = Date.parse((await read(id ?? '')).expiresOn as string)
    expect(atMs).toBeGreaterThanOrEqual(from)
    expect(atMs).toBeLessThanOrEqual(until)
  }
})

it('the days of a token win over those of its account, and 0 keeps them', async () => {
  const { ctx } = sluice.app
  await sluice.call('PUT', EXPIRATION, { recordings: { days: 30 } })
  const days = async (recordingDays: number | null) => {
    const { id } = await makeToken(sluice, 'publish', { recordingDays })
    const recording = await recorded({ state: 'processing', endedAtMs: 1, tokenId: id })
    const fromMs = ctx.clock.now()
    await completeRecording(ctx, recording, FILE)
    const { expiresOn } = (await read(recording)) as { expiresOn?: string }
    return expiresOn === undefined ? null : Math.floor((Date.parse(expiresOn) - fromMs) / DAY_MS)
  }
  expect([await days(null), await days(7), await days(0)]).toEqual([30, 7, null])
  await sluice.call('PUT', EXPIRATION, {})
  expect([await days(null), await days(7), await days(0)]).toEqual([null, 7, null])
})

it.each([
  ['no days', { recordings: { days: 0 } }, 'recordings.days'],
  ['too many days', { recordings: { days: 366 } }, 'recordings.days'],
  ['a number', { recordings: 30 }, 'recordings'],
  ['clips', { clips: { days: 1 } }, 'clips'],
  ['timelines', { timelines: { days: 1 } }, 'timelines'],
])('%s is refused with the name of the field', async (_, body, field) => {
  const { status, json } = await sluice.call('PUT', EXPIRATION, body)
  expect([status, Object.keys(json.data.errors ?? json.data)]).toEqual([400, [field]])
})
