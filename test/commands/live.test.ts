import { afterEach, describe, expect, it } from 'vitest'
import { runApp, type RunningApp } from '../support/app.ts'
import { freshDatabase } from '../support/postgres.ts'
import { makeToken, publish, tryToView, until, view } from '../support/live.ts'

let running: RunningApp[] = []
let drop: (() => Promise<void>) | undefined
afterEach(async () => {
  for (const app of running) await app.close()
  await drop?.()
  running = []
  drop = undefined
})

/** Nodes on one store; two only on PostgreSQL. */
async function start(engine: 'sqlite' | 'postgres', nodes = 1): Promise<RunningApp[]> {
  const database = engine === 'postgres' ? await freshDatabase() : undefined
  drop = database?.drop
  const storage = database ? { storage: { url: database.url } } : {}
  const flags = { ...storage, secrets: { sealingKey: Buffer.alloc(32, 7).toString('base64') } }
  for (let node = 0; node < nodes; node++) running.push(await runApp({ flags }))
  return running
}

describe.each(['sqlite', 'postgres'] as const)('live sessions on %s', (engine) => {
  it('admits a publisher and viewers, and ends exactly those of a deleted token', async () => {
    const [sluice] = (await start(engine)) as [RunningApp]
    const broadcast = await makeToken(sluice, 'publish')
    const [kept, taken] = [await makeToken(sluice, 'subscribe'), await makeToken(sluice, 'subscribe')]
    const publisher = await publish(sluice, { presented: broadcast.token })
    const staying = await view(sluice, { presented: kept.token })
    const leaving = await Promise.all(Array.from({ length: 200 }, () => view(sluice, { presented: taken.token })))
    await sluice.call('DELETE', `/api/subscribe_token/${taken.id}`)
    await until(() => leaving.every(({ cuts }) => cuts.length > 0))
    expect(new Set(leaving.flatMap(({ cuts }) => cuts))).toEqual(new Set(['token_deleted']))
    expect([...publisher.cuts, ...staying.cuts]).toEqual([])
    expect((await tryToView(sluice, { presented: taken.token })).ok).toBe(false)
  })
})
