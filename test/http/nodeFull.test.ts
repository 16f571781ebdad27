import { afterAll, beforeAll, expect, test } from 'vitest'
import { runApp, type RunningApp } from '../support/app.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { makeToken, publish } from '../support/testNode.ts'

const engine = new ScriptedEngine()
let sluice: RunningApp
let token: string
beforeAll(async () => {
  sluice = await runApp({ engine })
  token = (await makeToken(sluice, 'publish')).token
  await publish({ ctx: sluice.app.ctx }, { presented: token })
})
afterAll(() => sluice.close())

const offerTo = (path: string, more = {}) => {
  const headers = { 'content-type': 'application/sdp', ...more }
  return fetch(sluice.base + path, { method: 'POST', headers, body: 'v=0\r\n' })
}
const watch = () => offerTo(`/api/whep/${sluice.accountId}/show`)
const broadcast = () => offerTo('/api/whip/other', { authorization: `Bearer ${token}` })
const behind = (meanMs: number) =>
  engine.emit({ kind: 'waits', process: 0, meanMs, mostMs: meanMs, late: 0, load: 0.5 })

test('a full node answers new viewers 503, when to come again, and where to read on; its sessions and publishers go on', async () => {
  const before = await watch()
  expect(before.status).toBe(201)
  for (let n = 0; n < 3; n++) behind(400)
  const playlist = () => fetch(`${sluice.base}/hls/${sluice.accountId}/show/index.m3u8`)
  for (const ask of [watch, playlist]) {
    const answer = await ask()
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '10'])
    expect(await answer.text()).toBe('The server is busy and takes no more: try again later')
    const [, page = ''] = answer.headers.get('link')?.match(/^<(.+)>; rel="help"$/) ?? []
    const help = await fetch(new URL(page, answer.url))
    expect([help.status, await help.text()]).toEqual([200, expect.stringContaining('id="when-a-limit-is-reached"')])
  }
  expect((await broadcast()).status).toBe(201)
  const resource = new URL(before.headers.get('location') ?? '', sluice.base)
  const patch = { 'content-type': 'application/trickle-ice-sdpfrag', 'if-match': before.headers.get('etag') ?? '' }
  expect((await fetch(resource, { method: 'PATCH', headers: patch, body: 'a=ice-ufrag:1\r\n' })).status).toBe(204)
  for (let n = 0; n < 5; n++) behind(1)
  expect((await watch()).status).toBe(201)
})
