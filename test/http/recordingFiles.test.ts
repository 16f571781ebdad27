import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { recordingsHostKey } from '../../src/app/packager.ts'
import { createAccount } from '../../src/commands/accounts/accounts.ts'
import { createSecret } from '../../src/commands/accounts/secrets.ts'
import { cliActor } from '../../src/commands/context.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { newRecording } from '../conformance/store.recordings.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'

let sluice: RunningApp
beforeAll(async () => {
  sluice = await runApp({ engine: new ScriptedEngine() })
})
afterAll(() => sluice.close())

const fileOf = (id: string): string => join(sluice.dataDir, 'recordings', id, 'recording.mp4')

/** A finished recording with a file. Returns its id. */
async function recorded(): Promise<string> {
  const { app, accountId } = sluice
  const recording = newRecording({ accountId, state: 'completed', hostKey: recordingsHostKey(app.config) })
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

test('a file whose disk is not mounted is not there, which is not said of the recording', async () => {
  const id = await recorded()
  rmSync(dirname(fileOf(id)), { recursive: true })
  const { status, json } = await sluice.call('GET', `/api/recordings/${id}/download`)
  expect([status, json.data.recordingId]).toEqual([404, expect.stringContaining('is its disk mounted?')])
})
