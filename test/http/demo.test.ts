import { afterAll, beforeAll, expect, test } from 'vitest'
import { runApp, type RunningApp } from '../support/app.ts'

let sluice: RunningApp
beforeAll(async () => {
  sluice = await runApp()
})
afterAll(() => sluice.close())

const get = (path: string, headers: Record<string, string> = {}) => fetch(sluice.base + path, { headers })

test('the server serves the page and everything that it references, without any other origin', async () => {
  // It leads to a page of its own for browsers that do not trust the certificate.
  const seen = new Set(['/trust'])
  const toDo = ['/demo']
  for (let path = toDo.pop(); path !== undefined; path = toDo.pop()) {
    if (seen.has(path)) continue
    seen.add(path)
    const response = await get(path)
    const text = await response.text()
    expect([path, response.status]).toEqual([path, 200])
    const policy = response.headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'; ")
    // The page about certificates has no script and a policy of its own.
    if (path === '/trust') continue
    expect(policy).toContain("script-src 'self'")
    if (path === '/demo/hls.js') continue
    const named = [...text.matchAll(/(?:src|href|from|import\()[=(\s]*["'](\.?\/[^"'#`$]*)["']/g)]
    toDo.push(...named.map(([, name = '']) => new URL(name, `http://host${path}`).pathname))
    expect(text.replaceAll('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:\/\//)
    expect(text).not.toMatch(/ on[a-z]+="| style="|<script>/)
  }
  expect(seen.size).toBeGreaterThanOrEqual(13)
})

test('its addresses are relative, for proxies with a path prefix, so the page has one address', async () => {
  const page = await (await get('/demo')).text()
  expect(page).not.toMatch(/(?:src|href)="\//)
  const slash = await fetch(`${sluice.base}/demo/?source=test`, { redirect: 'manual' })
  expect([slash.status, slash.headers.get('location')]).toEqual([302, '../demo?source=test'])
})

test('a file that the browser has cached is not sent again', async () => {
  const etag = (await get('/demo/demo.css')).headers.get('etag')!
  expect((await get('/demo/demo.css', { 'if-none-match': etag })).status).toBe(304)
})

test('there is no page if it is disabled', async () => {
  const without = await runApp({ flags: { server: { demo: false } } })
  expect((await fetch(`${without.base}/demo`)).status).toBe(404)
  await without.close()
})
