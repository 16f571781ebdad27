import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { programOf } from '../../src/cli/process.ts'
import { loadConfig } from '../../src/config/load.ts'
import { silentLog } from '../support/log.ts'
import { builtProgram } from '../support/program.ts'
import { command, endServers, newDirectory, serve, sluice } from './cliProcess.ts'

const dir = newDirectory()
afterAll(() => {
  endServers()
  rmSync(dir, { recursive: true })
})

/** What runs commands of the server under test. */
const program = async (): Promise<string> => programOf(process.env, (await builtProgram()).main)

const redeem = (url: string, code: string, email: string): Promise<Response> =>
  fetch(`${url}/dashboard/api/setup`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-sluice-dashboard': '1' },
    body: JSON.stringify({ code, email, password: 'correct horse battery' }),
  })

it('a fresh start without a terminal prints no link, but the command whose link makes the first user', async () => {
  const fresh = await serve(['--data', dir])
  const { url: first } = await linked(['--role', 'admin'])
  expect(first).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/dashboard\/#\/setup\?code=[\w-]{43}$/)
  const code = first.split('code=')[1] ?? ''
  const made = await redeem(fresh.url, code, 'ann@example.com')
  expect(made.status).toBe(200)
  expect(made.headers.get('set-cookie')).toMatch(/^sluice_session=/)
  expect(await made.json()).toMatchObject({ data: { user: { role: 'admin' }, hasApiSecret: false } })

  const { url } = await linked(['--role', 'viewer'])
  const second = await redeem(fresh.url, url.split('code=')[1] ?? '', 'vic@example.com')
  expect(await second.json()).toMatchObject({ data: { user: { email: 'vic@example.com', role: 'viewer' } } })
  fresh.signal('SIGTERM')
  expect(await fresh.ended).toBe(0)
  expect(fresh.log()).toContain(
    `there is no user yet; make a link for the first one with: ${await program()} user link --data ${dir}`,
  )
  // A service manager or a container keeps both.
  expect(fresh.log() + fresh.errors()).not.toContain('code=')

  const again = await serve(['--data', dir])
  again.signal('SIGTERM')
  expect(await again.ended).toBe(0)
  expect(again.log()).not.toContain('there is no user yet')
  const users = await sluice(['--data', dir, 'user', 'list', '--json'])
  expect(JSON.parse(users.stdout)).toEqual([
    expect.objectContaining({ email: 'ann@example.com', role: 'admin' }),
    expect.objectContaining({ email: 'vic@example.com', role: 'viewer' }),
  ])
  const last = await sluice(['--data', dir, 'user', 'delete', '1'])
  expect([last.status, last.stderr]).toEqual([1, expect.stringContaining('The last admin cannot be deleted')])
})

it('a command without the configuration of its server is refused, and makes neither a database nor a key', async () => {
  const [data, away] = [join(dir, 'the data'), join(dir, 'away')]
  mkdirSync(away)
  const file = join(away, 'sluice.yaml')
  writeFileSync(file, `storage: { url: ${join(away, 'named.db')} }\n`)
  const key = { SLUICE_SECRETS_SEALING_KEY: Buffer.alloc(32, 1).toString('base64') }
  const server = await serve(['--data', data, '--config', file], key)
  const without = ['--data', data, 'token', 'create', '--label', 'a', '--stream', 's']
  const flags = `--config ${file} --data '${data}'`
  await expect
    .poll(() => server.log())
    .toContain(`make one with: ${await program()} secret create --name NAME ${flags}`)
  expect(server.log()).toContain(`make a link for the first one with: ${await program()} user link ${flags}`)
  const lost = await sluice(without)
  expect(lost).toMatchObject({ status: 1, stdout: '' })
  expect(lost.stderr).toContain(`storage.url: is missing, and the server of this directory uses ${away}/named.db`)
  expect(readdirSync(data)).not.toContain('sluice.db')

  // With its database, and without its key or with another.
  const named = ['--config', file, ...without]
  const keyless = await sluice(named)
  expect(keyless.stderr).toContain('sealing.key is missing beside the store')
  expect(readdirSync(data)).not.toContain('sealing.key')
  const other = await sluice(named, { env: { SLUICE_SECRETS_SEALING_KEY: Buffer.alloc(32, 2).toString('base64') } })
  expect(other.stderr).toMatch(/the server at .* has another sealing key than this process/)
  expect([keyless.status, other.status]).toEqual([1, 1])
  expect((await sluice(named, { env: key })).status).toBe(0)

  server.signal('SIGTERM')
  expect(await server.ended).toBe(0)
  // The note goes when an operator wants a new database.
  expect((await sluice(without)).stderr).toContain(`to begin with a new database here, delete ${data}/database`)
  rmSync(join(data, 'database'))
  expect((await sluice(without)).status).toBe(0)
})

const linked = async (flags: readonly string[]): Promise<{ url: string }> => {
  const ran = await sluice(['--data', dir, 'user', 'link', '--json', ...flags])
  return JSON.parse(ran.stdout) as { url: string }
}

/** Runs what is synchronous of `work` as a user who owns no file here. */
function asAnotherUser<T>(work: () => T): T {
  const isRoot = process.getuid?.() === 0
  if (isRoot) process.seteuid?.(65_534)
  try {
    return work()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}

it.each([
  [
    'it may not enter',
    0o000,
    (dataDir: string) => `data.dir: ${dataDir} may not be used by this user; make it and give`,
  ],
  [
    'it may not write to',
    0o555,
    (dataDir: string) => `${dataDir}, where Sluice makes its key file, may not be used by`,
  ],
])('a data directory that %s is named, and not a file that is not there', async (_, mode, refusal) => {
  chmodSync(dir, 0o755)
  const dataDir = join(dir, `mode-${mode}`)
  mkdirSync(dataDir, { mode })
  const config = loadConfig({ env: {}, flags: { data: { dir: dataDir } } })
  if (!config.ok) throw new Error('the configuration is wrong')
  const opening = asAnotherUser(() => openApp({ config: config.value, log: silentLog }))
  await expect(opening).rejects.toThrow(refusal(dataDir))
})

it('a link leads to the public URL, or else to that of the node', async () => {
  const linkWith = async (env: Record<string, string>) =>
    (await command(['--data', join(dir, 'linked'), 'user', 'link'], { env })).stdout.split('#')[0]
  const node = { SLUICE_SERVER_NODE_URL: 'https://node1.example.com' }
  expect(await linkWith(node)).toBe('https://node1.example.com/dashboard/')
  const both = { ...node, SLUICE_SERVER_PUBLIC_URL: 'https://www.example.com/live/' }
  expect(await linkWith(both)).toBe('https://www.example.com/live/dashboard/')
})
