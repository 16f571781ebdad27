import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { recordingsHostKey } from '../../src/app/packager.ts'
import { createAccount } from '../../src/commands/accounts/accounts.ts'
import { createSecret } from '../../src/commands/accounts/secrets.ts'
import { cliActor } from '../../src/commands/context.ts'
import { type StoredRecording, StoreUnavailable } from '../../src/store/store.ts'
import { newRecording } from '../conformance/store.recordings.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'

let sluice: RunningApp
beforeAll(async () => {
  sluice = await runApp({ engine: new ScriptedEngine() })
})
afterAll(() => sluice.close())

const fileOf = (id: string): string => join(sluice.dataDir, 'recordings', id, 'recording.mp4')

/** A recording with a file, by default a finished one. Returns its id. */
async function recorded(over: Partial<StoredRecording> = {}): Promise<string> {
  const { app, accountId } = sluice
  const recording = newRecording({ accountId, state: 'completed', hostKey: recordingsHostKey(app.config), ...over })
  await app.ctx.store.transaction((tx) => tx.recordings.insert(recording))
  mkdirSync(dirname(fileOf(recording.id)), { recursive: true })
  writeFileSync(fileOf(recording.id), 'abc')
  return recording.id
}

test('a recording can be deleted on a full disk, where nothing can be written before its files are gone', async () => {
  const { ctx } = sluice.app
  const id = await recorded()
  const other = await createAccount(ctx, 'Other')
  const secret = await createSecret(ctx, cliActor(other.ok ? other.value.id : ''), 'theirs')
  const authorization = `Bearer ${secret.ok ? secret.value.value : ''}`
  const { store } = ctx
  const transaction = store.transaction.bind(store)
  const full = vi.spyOn(store, 'transaction').mockImplementation((work) => {
    const isFull = existsSync(fileOf(id))
    return isFull ? Promise.reject(new StoreUnavailable('full', { isDiskFull: true })) : transaction(work)
  })
  onTestFinished(() => full.mockRestore())
  const deleted = async (headers = {}) =>
    (await sluice.call('DELETE', `/api/recordings/${id}`, undefined, headers)).status
  expect([await deleted({ authorization }), existsSync(fileOf(id))]).toEqual([503, true])
  expect([await deleted(), existsSync(fileOf(id))]).toEqual([200, false])
  expect((await sluice.call('GET', `/api/recordings/${id}`)).status).toBe(404)
})

test('a recording under way can be deleted if its node is gone, which may be for good, and not otherwise', async () => {
  const { node } = sluice.app.ctx.sessions
  const deleted = async (over: Partial<StoredRecording>) =>
    (await sluice.call('DELETE', `/api/recordings/${await recorded({ hostKey: 'another host', ...over })}`)).status
  for (const state of ['recording', 'processing'] as const)
    expect([await deleted({ state, node }), await deleted({ state, node: 'gone' })]).toEqual([409, 200])
})

test('a file whose disk is not mounted is not there, which is not said of the recording', async () => {
  const id = await recorded()
  rmSync(dirname(fileOf(id)), { recursive: true })
  const { status, json } = await sluice.call('GET', `/api/recordings/${id}/download`)
  expect([status, json.data.recordingId]).toEqual([404, expect.stringContaining('is its disk mounted?')])
})
