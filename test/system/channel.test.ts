import { rmSync } from 'node:fs'
import { afterAll, expect, it } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { cliActor } from '../../src/commands/context.ts'
import { createChannelWebhook } from '../../src/commands/channels/webhooks/webhooks.ts'
import { loadConfig } from '../../src/config/load.ts'
import { silentLog } from '../support/log.ts'
import { command, newDirectory } from './cliProcess.ts'

const dir = newDirectory()
const at = (...argv: string[]) => command(['--data', dir, 'channel', ...argv])
afterAll(() => rmSync(dir, { recursive: true }))

/** Counts what a server and a cache sent to viewers of a channel. */
async function count(channelId: string): Promise<void> {
  const config = loadConfig({ env: {}, flags: { data: { dir } } })
  if (!config.ok) throw new Error('no configuration')
  const app = await openApp({ config: config.value, log: silentLog })
  const [account] = await app.ctx.store.read.accounts.list()
  const of = {
    accountId: account?.id ?? '',
    channelId,
    distributionId: 'di',
    slotMs: Date.UTC(2026, 0, 1),
    trackingId: '',
  }
  const rows = [
    { ...of, country: 'NZ', bytesOut: 9, viewedMs: 0 },
    { ...of, country: '', bytesOut: 5, bytesFromCaches: 3, viewedMs: 0 },
  ]
  await app.ctx.store.transaction((tx) => tx.served.add(rows))
  await app.close()
}

const parsed = (text: string): { [name: string]: unknown } => JSON.parse(text) as { [name: string]: unknown }

it('the command line creates, finds, shows, starts, stops and deletes channels', async () => {
  const made = await at('create', '--name', 'Main stage', '--external-id', 'show-1', '--timeout', '0')
  expect(made).toMatchObject({ status: 0, stdout: expect.stringMatching(/^ch_\w{22}\n$/) as string })
  const id = made.stdout.trim()
  const [list, none, show] = [
    await at('list', '--search', 'MAIN', '--json'),
    await at('list', '--status', 'playing', '--json'),
    await at('show', id, '--json'),
  ]
  expect(parsed(list.stdout)).toEqual([expect.objectContaining({ id, timeout: 0, externalIds: ['show-1'] })])
  expect(none.stdout).toBe('[]\n')
  const shown = parsed(show.stdout) as { ingests: { id: string; streamKey: string }[] }
  expect(shown).toMatchObject({ engines: [{ status: 'stopped' }], distributions: [{ enabled: true }] })
  const [ingest] = shown.ingests
  expect((await at('show', id)).stdout).toContain(ingest?.streamKey)
  const rotated = await command(['--data', dir, 'ingest', 'rotate-key', ingest?.id ?? ''])
  expect(rotated).toMatchObject({ status: 0, stdout: expect.stringMatching(/^[0-9a-f]{32}\n$/) as string })
  expect(rotated.stdout.trim()).not.toBe(ingest?.streamKey)

  const unused = await at('usage', id, '--by', 'distribution', '--start', '2026-01-01', '--end', '2026-01-02')
  expect(unused).toMatchObject({ status: 0, stdout: 'from  id  bytes\n' })
  expect(parsed((await at('usage', id, '--json')).stdout)).toHaveLength(30)
  for (const by of ['country', 'tracking-id']) expect((await at('usage', id, '--by', by, '--json')).stdout).toBe('[]\n')
  const minutes = await at('usage', id, '--count', 'minutes', '--by', 'country')
  expect(minutes).toMatchObject({ status: 0, stdout: 'country  minutes\n' })
  await count(id)
  const counted = await at('usage', id, '--by', 'country', '--start', '2026-01-01', '--end', '2026-01-02')
  expect(counted.stdout).toBe('country  bytes  from caches\nNZ       9      0\nZZ       5      3\n')
  const backwards = await at('usage', id, '--start', '2026-01-02', '--end', '2026-01-01', '--json')
  expect(parsed(backwards.stderr)).toMatchObject({ errors: { end: [expect.stringContaining('later than start')] } })

  expect(await at('start', id)).toMatchObject({ status: 0, stdout: '' })
  const refused = await at('delete', id, '--json')
  expect(refused).toMatchObject({ status: 1, stdout: '' })
  expect(parsed(refused.stderr)).toMatchObject({ code: 'channel_running' })
  expect((await at('stop', id)).status).toBe(0)
})

it('a source URL is read from standard input, so that no process list shows it', async () => {
  const url = 'srt://studio.example.com:9000?passphrase=0123456789'
  const given = ['--data', dir, 'channel', 'create', '--name', 'Far', '--source', '-', '--json']
  const made = parsed((await command(given, { input: `${url}\n` })).stdout) as { ingests: object[] }
  expect(made.ingests).toEqual([expect.objectContaining({ type: 'srt-pull', url })])
})

/** The JSON lines that a server has written. */
async function seed(): Promise<{ id: string; logId: string }> {
  const config = loadConfig({ env: {}, flags: { data: { dir } } })
  if (!config.ok) throw new Error('no configuration')
  const app = await openApp({ config: config.value, log: silentLog })
  const [account] = await app.ctx.store.read.accounts.list()
  const accountId = account?.id ?? ''
  const url = 'https://hooks.example.com/channels'
  const hook = await createChannelWebhook(app.ctx, cliActor(accountId), { name: 'Hook', url, events: ['*'] })
  if (!hook.ok) throw new Error('no webhook')
  const { id } = hook.value
  const slot = (await app.ctx.store.read.channelWebhooks.get(accountId, id))?.slot ?? 0
  const data = JSON.stringify({ object: { type: 'channel', id: 'ch_1', name: 'Stage' }, data: null, atMs: 1 })
  const about = { accountId, type: 'channel', event: 'channel.created', subject: null, data, createdAtMs: 1 }
  await app.ctx.store.transaction(async (tx) => {
    await tx.channelEvents.insert([{ id: 'e1', accountId, atMs: 1, type: 'channel.created', data }])
    await tx.deliveries.insert([
      {
        ...about,
        id: 'd1',
        eventId: 'e1',
        webhookId: slot,
        state: 'skipped',
        error: { message: 'it was paused' },
        attempt: 1,
      },
    ])
  })
  await app.close()
  return { id, logId: 'lg_d1' }
}

it('the command line manages webhooks of channels and lists events', async () => {
  const { id, logId } = await seed()
  const hook = (...argv: string[]) => command(['--data', dir, 'channel-webhook', ...argv])
  const [list, log, events] = [
    await hook('list'),
    await hook('log', id),
    await at('events', '--since', '1970-01-01T00:00:00.000Z', '--until', '1970-01-02T00:00:00.000Z'),
  ]
  expect(list.stdout).toMatch(new RegExp(`^${id} +inactive +Hook +https://hooks.example.com/channels +\\*$`, 'm'))
  expect(log.stdout).toMatch(new RegExp(`^${logId} +1970-.* +channel.created +1 +skipped +0 +0 +it was paused$`, 'm'))
  expect(events.stdout).toMatch(/^ev_e1 +1970-\S+ +channel\.created +ch_1 +Stage$/m)
  for (const done of [await hook('test', id, '--type', 'engine.error'), await hook('redeliver', id, logId)]) {
    expect(done).toMatchObject({ status: 0, stdout: expect.stringMatching(/^lg_\w{22}\n$/) as string })
  }
  const rotated = await hook('rotate-secret', id)
  expect(Buffer.from(rotated.stdout.trim(), 'base64')).toHaveLength(32)
  const gone = await hook('redeliver', id, 'lg_nothing', '--json')
  expect([gone.status, parsed(gone.stderr)]).toMatchObject([1, { code: 'not_found' }])
  expect(parsed((await at('events', '--type', 'x', '--json')).stderr)).toMatchObject({ code: 'validation_failed' })
})

it('errors are the same as over HTTP', async () => {
  const [source, gone, cut] = [
    await at('create', '--name', 'x', '--source', 'rtmp://10.0.0.1/live/a', '--json'),
    await at('show', 'ch_nothing'),
    await command(['--data', dir, 'ingest', 'show', 'in_nothing', '--json']),
  ]
  expect(source.status).toBe(1)
  expect(parsed(source.stderr)).toMatchObject({
    code: 'validation_failed',
    errors: { 'ingests[0].url': [expect.stringContaining('10.0.0.1')] },
  })
  expect(gone).toMatchObject({ status: 1, stderr: 'sluice: There is no channel with the id ch_nothing\n' })
  expect(parsed(cut.stderr)).toMatchObject({ code: 'not_found' })
})

it('a channel has the audio tracks of the flags, in their order', async () => {
  const create = (...flags: string[]) => at('create', '--name', 'Stage', ...flags)
  const ingestOf = async ({ stdout: id }: { stdout: string }) => {
    const { stdout } = await at('show', id.trim(), '--json')
    return (parsed(stdout) as { ingests: object[] }).ingests[0]
  }
  const both = await create('--push', 'srt', '--audio', '258:pt-BR:Ao vivo: 1', '--audio', '257:en:English')
  const [portuguese, english] = [
    { language: 'pt-BR', label: 'Ao vivo: 1' },
    { language: 'en', label: 'English' },
  ]
  const inOrder = [
    { pid: 258, ...portuguese },
    { pid: 257, ...english },
  ]
  expect(await ingestOf(both)).toMatchObject({ type: 'srt-push', tracks: { audio: inOrder } })
  const alone = await ingestOf(await create('--audio', 'en:English'))
  expect(alone).toMatchObject({ type: 'rtmp-push', tracks: { audio: [english] } })
  const refused = await create('--audio', '1:en:English', '--audio', '1:de:Deutsch')
  expect(refused).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('is listed twice') })
})
