import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LEASE_MAX_MS } from '../../src/base/time.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { browserOf } from '../support/dashboard.ts'
import { NODE_FACTS } from '../support/nodeFacts.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { makeToken } from '../support/testNode.ts'

const DAY_MS = 86_400_000

let sluice: RunningApp
const engine = new ScriptedEngine()
beforeAll(async () => {
  sluice = await runApp({ flags: { rtmp: { enabled: false } }, engine })
})
afterAll(() => sluice.close())

const read = async () => (await sluice.call('GET', '/api/attention')).json.data as { kind: string; text: string }[]
const expiresIn = (ms: number) => ({ expires: ms / 1000 })
/** Without what depends on the disk of the machine. */
const kinds = async () => (await read()).map(({ kind }) => kind).filter((kind) => kind !== 'disk_low')

it('GET /api/attention answers what needs attention, the same behind the session of a user', async () => {
  expect(await kinds()).toEqual([])
  await makeToken(sluice, 'publish', expiresIn(8 * DAY_MS))
  const soon = await makeToken(sluice, 'subscribe', { label: 'Press', ...expiresIn(6 * DAY_MS) })
  await makeToken(sluice, 'publish', { allowedCountries: ['NZ'] })
  const made = await sluice.call('POST', '/api/webhooks', { url: 'https://example.com/', isFeedHooks: true })
  const untilMs = Date.now() + 60_000
  const health = { failuresInRow: 0, disabled: { untilMs, reason: [{ code: 'text', values: { text: 'it fails' } }] } }
  await sluice.app.ctx.store.transaction((tx) => tx.webhooks.setHealth(Number(made.json.data.id), health))
  expect(await kinds()).toEqual(['webhook_paused', 'countries_unknown', 'token_expires'])
  expect((await read()).at(-1)).toMatchObject({
    severity: 'warning',
    subject: { type: 'subscribe_token', id: String(soon.id) },
    text: expect.stringContaining('The subscribe token Press expires on'),
  })
  const viewer = await browserOf(sluice, 'viewer')
  expect((await viewer.call('GET', '/attention')).json.data).toEqual(await read())
})

it('names a media process that hung, and counts it', async () => {
  engine.emit({ kind: 'died', process: 1, detail: 'SIGKILL', isHung: true, sessions: 2 })
  expect(await read()).toContainEqual({
    kind: 'media_process_ended',
    severity: 'warning',
    text: expect.stringContaining('hung, was killed and was replaced. 2 sessions ended with it'),
    sentences: expect.arrayContaining([{ code: 'lost_sessions', values: { sessions: 2 } }]),
    until: expect.any(String),
  })
  for (const late of [3, 0]) engine.emit({ kind: 'waits', process: 1, meanMs: 1, mostMs: 40 + late, late, load: 0.5 })
  const { text } = await sluice.call('GET', '/metrics')
  expect(text).toContain('sluice_media_processes_ended_total{cause="hung"} 1')
  expect(text).toContain('sluice_media_wait_seconds{process="1"} 0.04')
  expect(text).toContain('sluice_media_load_ratio{process="1"} 0.5')
  expect(text).toContain('sluice_media_late_packets_total 3')
})

it('names a media process of another node that died, with the node', async () => {
  const { store, clock } = sluice.app.ctx
  const mediaProcessEnd = { atMs: clock.now(), isHung: false, sessions: 1 }
  await store.transaction(async (tx) => {
    await tx.nodes.insert({ id: 'other', hostKey: 'elsewhere', pid: 1, url: 'https://b.example' }, LEASE_MAX_MS)
    await tx.nodes.insertFacts('other', { ...NODE_FACTS, mediaProcessEnd })
  })
  expect((await read()).map(({ text }) => text)).toContain(
    'A WebRTC process of the node https://b.example died and was replaced. 1 session ended with it. ' +
      'If it happens again, look into the log',
  )
  await store.transaction((tx) => tx.nodes.delete('other'))
})

it('says that the disk of recordings is gone, where it answered 500', async () => {
  const disk = join(sluice.dataDir, 'recordings')
  rmSync(disk, { recursive: true, force: true })
  writeFileSync(disk, '')
  expect(await read()).toContainEqual(
    expect.objectContaining({
      kind: 'recordings_closed',
      severity: 'error',
      text: expect.stringContaining('(EEXIST)'),
    }),
  )
  expect((await sluice.call('GET', '/api/storage')).json.data.recordings).toEqual({ count: 0, bytes: 0 })
  rmSync(disk)
  expect(await kinds()).not.toContain('recordings_closed')
})
