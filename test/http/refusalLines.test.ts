import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openApp } from '../../src/app.ts'
import { ManualClock } from '../../src/base/clock.ts'
import type { Fields, Logger } from '../../src/base/log.ts'
import { createSecret } from '../../src/commands/secrets.ts'
import { loadConfig } from '../../src/config/load.ts'
import { openDoors } from '../../src/serving.ts'

test('lines of refusals are bounded, and hide neither what is let in nor what people with a secret do', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'sluice-lines-'))
  const config = loadConfig({ env: {}, flags: { data: { dir } } })
  if (!config.ok) throw new Error('no configuration')
  const lines: Fields[] = []
  const log: Logger = {
    debug: () => undefined,
    info: (fields, message) => void (message === 'answered' && lines.push(fields)),
    warn: () => undefined,
    error: () => undefined,
    child: () => log,
  }
  const app = await openApp({ config: config.value, log, clock: new ManualClock() })
  const [account] = await app.ctx.store.read.accounts.list()
  const actor = { accountId: account?.id ?? '', name: 'cli', address: null, requestId: null }
  const secret = await createSecret(app.ctx, actor, 'test')
  if (!secret.ok) throw new Error('no secret')
  const doors = await openDoors(app)
  const authorization = `Bearer ${secret.value.value}`
  const statuses = new Set<number>()
  for (let at = 0; at < 1500; at += 1) {
    statuses.add((await doors.inject({ url: `/api/sessions?limit=${at}` })).statusCode)
  }
  expect([...statuses]).toEqual([401])
  expect(lines).toHaveLength(600)
  await doors.inject({ url: '/api/openapi.json' })
  await doors.inject({ url: '/api/sessions', headers: { authorization } })
  await doors.inject({ url: '/api/nothing', headers: { authorization } })
  expect(lines.slice(600)).toMatchObject([{ status: 200 }, { status: 200, accountId: account?.id }])
  expect((await doors.inject({ url: '/metrics' })).body).toMatch(
    /sluice_log_lines_left_out_total\{of="refusals"\} 901\n/,
  )
  await doors.close()
  await app.close()
  await rm(dir, { recursive: true, force: true })
})
