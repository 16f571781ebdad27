import { rmSync } from 'node:fs'
import { afterAll, expect, it } from 'vitest'
import { command, newDirectory } from './cliProcess.ts'

const dir = newDirectory()
const at = (...argv: string[]) => command(['--data', dir, 'channel', ...argv])
afterAll(() => rmSync(dir, { recursive: true }))

const parsed = (text: string): { [name: string]: unknown } => JSON.parse(text) as { [name: string]: unknown }

it('channels are made, found, shown, started, stopped and deleted from the command line', async () => {
  const made = await at('create', '--name', 'Main stage', '--external-id', 'show-1', '--timeout', '0')
  expect(made).toMatchObject({ status: 0, stderr: '', stdout: expect.stringMatching(/^ch_\w{22}\n$/) as string })
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
  const backwards = await at('usage', id, '--start', '2026-01-02', '--end', '2026-01-01', '--json')
  expect(parsed(backwards.stderr)).toMatchObject({ errors: { end: [expect.stringContaining('later than start')] } })

  expect(await at('start', id)).toMatchObject({ status: 0, stdout: '' })
  const refused = await at('delete', id, '--json')
  expect(refused).toMatchObject({ status: 1, stdout: '' })
  expect(parsed(refused.stderr)).toMatchObject({ code: 'channel_running' })
  expect((await at('stop', id)).status).toBe(0)
})

it('a source is read from standard input, where no list of processes shows it', async () => {
  const url = 'srt://studio.example.com:9000?passphrase=0123456789'
  const given = ['--data', dir, 'channel', 'create', '--name', 'Far', '--source', '-', '--json']
  const made = parsed((await command(given, { input: `${url}\n` })).stdout) as { ingests: object[] }
  expect(made.ingests).toEqual([expect.objectContaining({ type: 'srt-pull', url })])
})

it('what is wrong is said as over HTTP', async () => {
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
