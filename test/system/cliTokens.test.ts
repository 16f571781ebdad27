import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { command, newDirectory } from './cliProcess.ts'

const parsed = (text: string): unknown => JSON.parse(text)

test('a command changes a token, refuses clients while it is disabled, and gives it a new value', async () => {
  const own = newDirectory()
  const at = (...argv: string[]) => command(['--data', own, ...argv])
  const created = await at('token', 'create', '--label', 'Cam', '--stream', 'cam', '--ip', '192.0.2.7', '--json')
  const { token } = parsed(created.stdout) as { token: string }
  const check = (value = token) =>
    at('check', '--action', 'publish', '--stream', 'cam', '--ip', '192.0.2.7', '--token', value)
  expect((await check()).status).toBe(0)

  const changed = await at('token', 'update', '1', '--no-ip', '--record', '--add-stream', 'cam-2', '--json')
  expect(parsed(changed.stdout)).toMatchObject({
    label: 'Cam',
    allowedIpAddresses: [],
    record: true,
    streams: [{ streamName: 'cam' }, { streamName: 'cam-2' }],
    token,
  })
  expect(await at('token', 'disable', '1')).toEqual({ status: 0, stdout: '', stderr: '' })
  expect(await check()).toMatchObject({ status: 1, stdout: expect.stringContaining('token_disabled') })
  expect((await at('token', 'enable', '1', '--json')).stdout).toBe('true\n')
  expect((await check()).status).toBe(0)

  const fresh = parsed((await at('token', 'update', '1', '--refresh', '--json')).stdout) as { token: string }
  expect([(await check()).status, (await check(fresh.token)).status]).toEqual([1, 0])

  const unknown = { status: 1, stderr: 'sluice: No publish token with id: 9\n' }
  for (const verb of ['enable', 'disable']) expect(await at('token', verb, '9')).toMatchObject(unknown)
  expect(await at('token', 'update', '9', '--label', 'x')).toMatchObject(unknown)
  const wrong = await at('token', 'update', '1', '--ip', 'nowhere', '--json')
  expect([wrong.status, parsed(wrong.stderr)]).toMatchObject([
    1,
    { code: 'validation', errors: { 'allowedIpAddresses[0]': [expect.any(String)] } },
  ])
  rmSync(own, { recursive: true })
})

test('a command finds the kind of a token by its id, which only one token has', async () => {
  const own = newDirectory()
  const at = (...argv: string[]) => command(['--data', own, 'token', ...argv])
  await at('create', '--label', 'Cam', '--stream', 'cam')
  await at('create', '--kind', 'subscribe', '--label', 'Guests', '--stream', 'cam')
  expect(parsed((await at('show', '2', '--json')).stdout)).toMatchObject({ id: 2, label: 'Guests' })
  expect((await at('show', '2', '--kind', 'publish')).stderr).toBe('sluice: No publish token with id: 2\n')
  expect((await at('disable', '2')).status).toBe(0)
  const updated = await at('update', '2', '--label', 'All guests', '--json')
  expect(parsed(updated.stdout)).toMatchObject({ id: 2, label: 'All guests', isActive: false })
  expect((await at('bound-ips', '2', '--json')).stdout).toBe('[]\n')
  expect((await at('delete', '2')).status).toBe(0)
  expect(parsed((await at('list', '--json')).stdout)).toMatchObject([{ id: 1, label: 'Cam' }])
  rmSync(own, { recursive: true })
})
