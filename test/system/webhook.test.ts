import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { command, endServers, listen, newDirectory, serve, type Listening, type Served } from './cliProcess.ts'

const dir = newDirectory()
const env = { SLUICE_WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true' }
const at = (...argv: string[]) => command(['--data', dir, ...argv], { env })
const json = async (...argv: string[]) => JSON.parse((await at(...argv, '--json')).stdout) as Record<string, unknown>
const states = async (id: unknown) =>
  (JSON.parse((await at('webhook', 'deliveries', String(id), '--json')).stdout) as { id: string; state: string }[]).map(
    ({ state }) => state,
  )

afterAll(() => {
  endServers()
  rmSync(dir, { recursive: true })
})

describe('sluice webhook', () => {
  it('creates a webhook and prints its secret alone; shows, lists, changes and deletes it', async () => {
    const created = await at('webhook', 'create', '--url', 'https://hooks.example.com/', '--event', 'feeds')
    expect(created).toMatchObject({ status: 0, stdout: expect.stringMatching(/^[\w+/]{43}=\n$/) as string })
    const [, id] = /webhook is (\d+)/.exec(created.stderr) ?? []
    const shown = await json('webhook', 'show', String(id))
    expect(shown).toMatchObject({ isFeedHooks: true, isMediaHooks: false, secret: created.stdout.trim() })
    const list = await at('webhook', 'list')
    expect(list.stdout).toContain('https://hooks.example.com/')
    expect(list.stdout).not.toContain(created.stdout.trim())

    const changed = await json('webhook', 'update', String(id), '--event', 'all', '--filter', 'a.*', '--refresh-secret')
    expect(changed).toMatchObject({ isTranscoderHooks: true, isMediaHooks: true, filter: 'a.*' })
    expect(changed['secret']).not.toBe(shown['secret'])
    expect(await json('webhook', 'update', String(id), '--filter', '')).not.toHaveProperty('filter')
    expect(await at('webhook', 'delete', String(id))).toMatchObject({ status: 0, stdout: '' })
    expect(await at('webhook', 'show', String(id))).toMatchObject({ status: 1 })
    expect(await json('webhook', 'list')).toEqual([])
  })

  it('refuses invalid input, with the reason', async () => {
    const refused = await at('webhook', 'create', '--url', 'ftp://hooks.example.com/', '--filter', '(')
    expect(refused.status).toBe(1)
    expect(refused.stderr).toMatch(/url: must begin with/)
    expect(refused.stderr).toMatch(/filter: /)
    for (const argv of [
      ['create', '--url', 'https://hooks.example.com/', '--event', 'feed'],
      ['update', '1'],
      ['test', '--type', 'feed'],
    ]) {
      expect((await at('webhook', ...argv)).status, argv.join(' ')).toBe(2)
    }
  })
})

describe('an event from the command line', () => {
  let receiver: Listening
  let server: Served
  let id: unknown
  beforeAll(async () => {
    const made = await json('webhook', 'create', '--url', 'http://127.0.0.1:9/', '--event', 'feeds')
    id = made['id']
    receiver = await listen(String(made['secret']))
    await at('webhook', 'update', String(id), '--url', receiver.url)
  })

  it('is sent by the next server, not by the command line, and shows in sluice listen', async () => {
    expect(await at('webhook', 'test', '--type', 'Feeds', '--stream', 'studio-1')).toMatchObject({ status: 0 })
    expect(receiver.lines()).toEqual([])
    server = await serve(['--data', dir], env)
    await expect.poll(() => receiver.lines().length, { timeout: 30_000 }).toBe(1)
    expect(receiver.lines()[0]).toMatchObject({
      verified: true,
      payload: { type: 'feeds', data: { name: 'studio-1' } },
    })
    await expect.poll(() => states(id), { timeout: 30_000 }).toEqual(['delivered'])
  })

  it('is sent again by a running server on request', async () => {
    const log = JSON.parse((await at('webhook', 'deliveries', String(id), '--json')).stdout) as { id: string }[]
    const again = await at('webhook', 'redeliver', String(id), log[0]?.id ?? '')
    expect(again).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\w{22}\n$/) as string })
    await expect.poll(() => receiver.lines().length, { timeout: 30_000 }).toBe(2)
    const [first, second] = receiver.lines()
    expect(second).toMatchObject({ id: first?.['id'], payload: first?.['payload'] })
  })

  it('stays in the log after an orderly stop of the server', async () => {
    server.signal('SIGTERM')
    expect(await server.ended).toBe(0)
    expect(await states(id)).toEqual(['delivered', 'delivered'])
  })
})
