import { rmSync } from 'node:fs'
import { afterAll, expect, it } from 'vitest'
import { until } from '../support/until.ts'
import { endServers, newDirectory, serve, sluice } from './cliProcess.ts'

const dir = newDirectory()
afterAll(() => {
  endServers()
  rmSync(dir, { recursive: true })
})

const redeem = (url: string, code: string, email: string): Promise<Response> =>
  fetch(`${url}/dashboard/api/setup`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-sluice-dashboard': '1' },
    body: JSON.stringify({ code, email, password: 'correct horse battery' }),
  })

it('a fresh start prints one link outside the log, which makes the first user; later starts print none', async () => {
  const fresh = await serve(['--data', dir])
  const links = await printed(() => fresh.errors())
  expect(links).toEqual([expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/dashboard\/#\/setup\?code=[\w-]{43}$/)])
  const { origin, hash } = new URL(links[0] ?? '')
  expect(origin).toBe(fresh.url)
  const code = hash.slice('#/setup?code='.length)
  const made = await redeem(fresh.url, code, 'ann@example.com')
  expect(made.status).toBe(200)
  expect(made.headers.get('set-cookie')).toMatch(/^sluice_session=/)
  expect(await made.json()).toMatchObject({ data: { user: { role: 'admin' }, hasApiSecret: false } })

  const invited = await sluice(['--data', dir, 'user', 'link', '--role', 'viewer', '--json'])
  const { url } = JSON.parse(invited.stdout) as { url: string }
  const second = await redeem(fresh.url, url.split('code=')[1] ?? '', 'vic@example.com')
  expect(await second.json()).toMatchObject({ data: { user: { email: 'vic@example.com', role: 'viewer' } } })
  fresh.signal('SIGTERM')
  expect(await fresh.ended).toBe(0)
  expect(fresh.log()).toContain('there is no user yet')
  expect(fresh.log()).not.toContain(code)

  const again = await serve(['--data', dir])
  again.signal('SIGTERM')
  expect(await again.ended).toBe(0)
  expect(again.errors()).not.toContain('code=')
  const users = await sluice(['--data', dir, 'user', 'list', '--json'])
  expect(JSON.parse(users.stdout)).toEqual([
    expect.objectContaining({ email: 'ann@example.com', role: 'admin' }),
    expect.objectContaining({ email: 'vic@example.com', role: 'viewer' }),
  ])
  const last = await sluice(['--data', dir, 'user', 'delete', '1'])
  expect([last.status, last.stderr]).toEqual([1, expect.stringContaining('The last admin cannot be deleted')])
})

/** The link comes right after the line that says that the server is ready. */
const printed = (errors: () => string): Promise<string[]> => until(() => errors().match(/\S+code=\S+/g))
