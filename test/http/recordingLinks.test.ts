import { mkdirSync, readdirSync, readlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { get as httpGet, type IncomingMessage } from 'node:http'
import { dirname, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { macWith } from '../../src/app/derivedKeys.ts'
import { recordingsHostKey } from '../../src/app/packager.ts'
import { createAccount } from '../../src/commands/accounts/accounts.ts'
import { createSecret, deleteSecret, refreshSecret } from '../../src/commands/accounts/secrets.ts'
import { cliActor } from '../../src/commands/context.ts'
import { recordingLink } from '../../src/commands/recordings/links.ts'
import { changeRole, deleteUser } from '../../src/commands/users/users.ts'
import type { StoredRecording } from '../../src/store/store.ts'
import { newRecording } from '../conformance/store.recordings.ts'
import { besideServer, run } from '../cli/fakeHost.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { browserOf } from '../support/dashboard.ts'
import { FastClock } from '../support/fastClock.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { until } from '../support/until.ts'

const MP4 = Buffer.from('0123456789abcdefghij')
const DAY_SECONDS = 86_400

const clock = new FastClock(1)
let sluice: RunningApp
beforeAll(async () => {
  sluice = await runApp({ engine: new ScriptedEngine(), clock })
})
afterAll(async () => {
  await sluice.close()
  clock.close()
})

async function newAccount(name: string): Promise<string> {
  const made = await createAccount(sluice.app.ctx, name)
  if (!made.ok) throw new Error('no account')
  return made.value.id
}

const fileOf = (id: string): string => join(sluice.dataDir, 'recordings', id, 'recording.mp4')

/** What a symbolic link leads to; null: it is gone. */
function linkOf(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    return null
  }
}

/** A finished recording with a file. Returns its id. */
async function recorded(over: Partial<StoredRecording> = {}): Promise<string> {
  const { app, accountId } = sluice
  const hostKey = recordingsHostKey(app.config)
  const recording = newRecording({ accountId, state: 'completed', hostKey, bytes: MP4.length, ...over })
  await app.ctx.store.transaction((tx) => tx.recordings.insert(recording))
  mkdirSync(dirname(fileOf(recording.id)), { recursive: true })
  writeFileSync(fileOf(recording.id), MP4)
  return recording.id
}

const sign = (id: string, body: object = {}, headers: Record<string, string> = {}) =>
  sluice.call('POST', `/api/recordings/${id}/sign`, body, headers)

async function linkTo(id: string, body: object = {}): Promise<URL> {
  const { status, json, text } = await sign(id, body)
  expect(status, text).toBe(200)
  return new URL(json.data.url as string)
}

async function get(url: URL | string, headers: Record<string, string> = {}, method = 'GET') {
  const response = await fetch(url, { method, headers })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

function atClock(aheadMs: number): void {
  onTestFinished(() => void vi.restoreAllMocks())
  vi.spyOn(sluice.app.ctx.clock, 'now').mockImplementation(() => Date.now() + aheadMs)
}

const FORBIDDEN = [403, 'Forbidden: this link is not valid; copy all of it, or ask for another']
const refusal = async (url: URL | string) => {
  const { status, text, headers } = await get(url)
  expect([headers.get('access-control-allow-origin'), headers.get('cache-control')]).toEqual(['*', 'no-store'])
  return [status, text]
}

describe('a signed link to a recording', () => {
  test('plays on a page without a secret: whole, in ranges, with what pages of other origins need', async () => {
    const url = await linkTo(await recorded())
    const whole = await get(url, { origin: 'https://page.example' })
    expect([whole.status, whole.text]).toEqual([200, MP4.toString()])
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      'content-type': 'video/mp4',
      'accept-ranges': 'bytes',
      'content-disposition': expect.stringMatching(/^inline; filename="\w{22}\.mp4"$/),
      'access-control-allow-origin': '*',
      'access-control-expose-headers': expect.stringContaining('Content-Range'),
      'cross-origin-resource-policy': 'cross-origin',
      'referrer-policy': 'no-referrer',
      'cache-control': 'private, no-cache',
    })
    const part = await get(url, { range: 'bytes=10-12' })
    expect([part.status, part.text, part.headers.get('content-range')]).toEqual([206, 'abc', 'bytes 10-12/20'])
    expect((await get(url, { range: 'bytes=99-' })).status).toBe(416)
    const etag = whole.headers.get('etag') ?? ''
    expect((await get(url, { 'if-none-match': etag })).status).toBe(304)
    expect((await get(url, { range: 'bytes=10-12', 'if-range': etag })).status).toBe(206)
    expect((await get(url, { range: 'bytes=10-12', 'if-range': '"other"' })).status).toBe(200)
    const head = await get(url, {}, 'HEAD')
    expect([head.status, head.headers.get('content-length'), head.text]).toEqual([200, '20', ''])
    const preflight = { origin: 'https://page.example', 'access-control-request-headers': 'range' }
    expect((await get(url, preflight, 'OPTIONS')).headers.get('access-control-allow-headers')).toMatch(/range/)
    const saved = await get(`${url.href}&download`)
    expect(saved.headers.get('content-disposition')).toMatch(/^attachment; /)
  })

  test('costs no reading of the file for HEAD, whatever its size', async () => {
    const id = await recorded()
    const url = await linkTo(id)
    // Takes no space, and hours to read.
    truncateSync(fileOf(id), 2 ** 42)
    expect((await get(url, {}, 'HEAD')).headers.get('content-length')).toBe(String(2 ** 42))
    const isOpen = readdirSync('/proc/self/fd').some((fd) => linkOf(`/proc/self/fd/${fd}`) === fileOf(id))
    expect(isOpen).toBe(false)
  })

  test('has an end that its maker chooses, judged by the clock of Sluice', async () => {
    const id = await recorded()
    const { json } = await sign(id, { expiresInSeconds: DAY_SECONDS })
    const { url, expiresOn } = json.data as { url: string; expiresOn: string }
    const leftMs = Date.parse(expiresOn) - Date.now()
    expect([leftMs > (DAY_SECONDS - 60) * 1000, leftMs <= DAY_SECONDS * 1000]).toEqual([true, true])
    atClock(leftMs - 5000)
    expect((await get(url)).status).toBe(200)
    atClock(leftMs + 1)
    expect(await refusal(url)).toEqual([410, `Gone: this link ended at ${expiresOn}`])
    expect((await get(url, { 'if-none-match': `"${id}"`, range: 'bytes=0-1' })).status).toBe(410)
  })

  test('is refused when any part of it was changed: account, recording, end or signature', async () => {
    const [id, other] = [await recorded(), await recorded()]
    const account = await newAccount('other')
    const theirs = await recorded({ accountId: account })
    const url = await linkTo(id)
    const changed = (change: (url: URL) => void): URL => {
      const copy = new URL(url)
      change(copy)
      return copy
    }
    const signature = url.searchParams.get('signature') ?? ''
    const flipped = (signature.startsWith('A') ? 'B' : 'A') + signature.slice(1)
    for (const wrong of [
      changed((copy) => (copy.pathname = copy.pathname.replace(id, other))),
      changed((copy) => (copy.pathname = copy.pathname.replace(sluice.accountId, account))),
      changed((copy) => (copy.pathname = `/recordings/${account}/${theirs}.mp4`)),
      changed((copy) => (copy.pathname = `/recordings/${sluice.accountId}/..%2f${id}.mp4`)),
      changed((copy) => copy.searchParams.set('expires', String(Number(url.searchParams.get('expires')) + 1))),
      changed((copy) => copy.searchParams.set('expires', `0${url.searchParams.get('expires')}`)),
      changed((copy) => copy.searchParams.set('by', (url.searchParams.get('by') ?? '').replace('s', 'u'))),
      changed((copy) => copy.searchParams.delete('by')),
      changed((copy) => copy.searchParams.set('signature', flipped)),
      changed((copy) => copy.searchParams.set('signature', signature.slice(0, -1))),
      changed((copy) => copy.searchParams.append('signature', signature)),
      changed((copy) => copy.searchParams.delete('signature')),
      changed((copy) => (copy.search = '')),
    ])
      expect(await refusal(wrong), wrong.href).toEqual(FORBIDDEN)
    // The links of an installation with another sealing key.
    const foreign = { signRecordingLink: macWith(Buffer.alloc(32, 9), 'sluice recording links') }
    const linked = { accountId: sluice.accountId, recordingId: id }
    const terms = { expiresAtMs: Date.now() + 60_000, maker: { kind: 'secret', id: 1, sinceMs: 0 } } as const
    expect(await refusal(sluice.base + recordingLink(foreign, linked, terms))).toEqual(FORBIDDEN)
    expect((await get(url)).status).toBe(200)
  })

  test('ends when the recording is deleted', async () => {
    const id = await recorded()
    const url = await linkTo(id, { expiresInSeconds: 604_800 })
    expect((await get(url)).status).toBe(200)
    await sluice.call('DELETE', `/api/recordings/${id}`)
    expect(await refusal(url)).toEqual([404, 'Not found: this recording was deleted'])
  })

  test('ends with the secret or the user that made it', async () => {
    const id = await recorded()
    const { ctx } = sluice.app
    const actor = cliActor(sluice.accountId)
    // The clock stands still, or was set back.
    vi.spyOn(ctx.clock, 'now').mockReturnValue(ctx.clock.now())
    onTestFinished(() => void vi.restoreAllMocks())
    const makers = await Promise.all(
      ['refreshed', 'deleted', 'kept'].map(async (name) => {
        const made = await createSecret(ctx, actor, name)
        if (!made.ok) throw new Error('no secret')
        const { json } = await sign(id, {}, { authorization: `Bearer ${made.value.value}` })
        return { id: made.value.secret.id, url: json.data.url as string }
      }),
    )
    const [refreshed, deleted, kept] = makers as [(typeof makers)[0], (typeof makers)[0], (typeof makers)[0]]
    await refreshSecret(ctx, actor, refreshed.id)
    await deleteSecret(ctx, actor, deleted.id)
    for (const { url } of [refreshed, deleted])
      expect(await refusal(url)).toEqual([410, expect.stringContaining('API secret or the user that made this link')])
    expect((await get(kept.url)).status).toBe(200)
    const [admin] = [await browserOf(sluice), await browserOf(sluice)]
    const signed = await admin.call('POST', `/recordings/${id}/sign`, {})
    const url = signed.json.data.url as string
    expect((await get(url)).status).toBe(200)
    await deleteUser(ctx, actor, admin.id)
    expect((await refusal(url))[0]).toBe(410)
  })

  test('ends a download that has begun with its maker, as do the ends of a secret, a session and a recording', async () => {
    // More than the system keeps for a client that does not read.
    const bytes = 64_000_000
    const [id, gone] = [await recorded({ bytes }), await recorded({ bytes })]
    for (const one of [id, gone]) truncateSync(fileOf(one), bytes)
    const { ctx } = sluice.app
    const actor = cliActor(sluice.accountId)
    const made = await createSecret(ctx, actor, 'deleted meanwhile')
    if (!made.ok) throw new Error('no secret')
    const headers = { authorization: `Bearer ${made.value.value}` }
    const [leaving, lowered] = [await browserOf(sluice), await browserOf(sluice)]
    const begin = async (url: string, given: Record<string, string> = {}) => {
      const [answer] = (await once(httpGet(url, { headers: given, agent: false }), 'response')) as [IncomingMessage]
      return answer
    }
    const download = (path: string, given: Record<string, string>, of = id) =>
      begin(`${sluice.base}${path}/recordings/${of}/download`, given)
    const linked = (await sign(id, {}, headers)).json.data.url as string
    const over = await Promise.all([
      begin(linked),
      begin((await linkTo(gone)).href),
      download('/api', headers),
      download('/api', { authorization: `Bearer ${sluice.secret}` }, gone),
      ...[leaving, lowered].map(({ cookie }) => download('/dashboard/api', { cookie })),
    ])
    const kept = await Promise.all([
      begin((await linkTo(id)).href),
      download('/api', { authorization: `Bearer ${sluice.secret}` }),
    ])
    await deleteSecret(ctx, actor, made.value.secret.id)
    await sluice.call('DELETE', `/api/recordings/${gone}`)
    await leaving.call('DELETE', '/session')
    await changeRole(ctx, actor, lowered.id, 'viewer')
    clock.speed = 40
    const revoked = /^sluice_http_connections_closed_total\{reason="revoked"\} 6$/m
    await until(async () => revoked.test((await get(`${sluice.base}/metrics`)).text))
    clock.speed = 1
    const sizes = await Promise.all(
      [...over, ...kept].map((answer) =>
        buffer(answer).then(
          ({ length }) => length,
          () => null,
        ),
      ),
    )
    expect(sizes).toEqual([...over.map(() => null), bytes, bytes])
  })

  test('is in no line of the log', async () => {
    const url = await linkTo(await recorded())
    const { ctx } = sluice.app
    const lines: string[] = []
    const spies = [ctx.log, ctx.sampled.answers, ctx.sampled.refusals].flatMap((logger) =>
      (['info', 'warn', 'error'] as const).map((level) =>
        vi.spyOn(logger, level).mockImplementation((...line) => void lines.push(JSON.stringify(line))),
      ),
    )
    for (const asked of [url, `${url.href}&x`, `${url.href}x`, `${url.href}/%zz`, url.href.replace('.mp4', '')])
      await get(asked)
    for (const spy of spies) spy.mockRestore()
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.join()).not.toContain(url.searchParams.get('signature'))
  })

  test('is asked of the store only when its signature is genuine', async () => {
    const url = await linkTo(await recorded())
    const asked = vi.spyOn(sluice.app.ctx.store.read.recordings, 'get')
    onTestFinished(() => asked.mockRestore())
    url.searchParams.set('signature', 'A'.repeat(22))
    expect((await get(url)).status).toBe(403)
    expect(asked).not.toHaveBeenCalled()
  })
})

describe('signing', () => {
  test('bounds the end, and says what is wrong', async () => {
    const id = await recorded()
    for (const expiresInSeconds of [60, 604_800]) expect((await sign(id, { expiresInSeconds })).status).toBe(200)
    for (const body of [{ expiresInSeconds: 59 }, { expiresInSeconds: 604_801 }, { expiresInSeconds: 90.5 }]) {
      const { status, json } = await sign(id, body)
      expect([status, Object.keys(json.data.errors as object)]).toEqual([400, ['expiresInSeconds']])
    }
    expect((await sign(id, { expiresIn: 60 })).json.data.errors).toHaveProperty('expiresIn')
  })

  test('takes a secret of the account, and a recording of it that is complete and here', async () => {
    const id = await recorded()
    expect((await sign(id, {}, { authorization: '' })).status).toBe(401)
    const account = await newAccount('another')
    const secret = await createSecret(sluice.app.ctx, cliActor(account), 'theirs')
    if (!secret.ok) throw new Error('no secret')
    expect((await sign(id, {}, { authorization: `Bearer ${secret.value.value}` })).status).toBe(404)
    expect((await sign('x')).status).toBe(404)
    expect((await sign(await recorded({ state: 'processing' }))).status).toBe(409)
    const away = await sign(await recorded({ hostKey: 'tape:/recordings' }))
    expect([away.status, away.json.data.message]).toEqual([409, expect.stringContaining('on tape')])
    const viewer = await browserOf(sluice, 'viewer')
    expect((await viewer.call('POST', `/recordings/${id}/sign`, {})).status).toBe(403)
    expect((await viewer.call('GET', `/recordings/${id}/link`)).status).toBe(403)
  })

  test('is a GET too, with the seconds in its query', async () => {
    const path = `/api/recordings/${await recorded()}/link`
    const { json } = await sluice.call('GET', `${path}?seconds=60`)
    expect((await get(json.data.url as string)).status).toBe(200)
    expect(Date.parse(json.data.expiresOn as string) - clock.now()).toBeLessThanOrEqual(60_000)
    expect((await sluice.call('GET', path)).status).toBe(200)
    for (const seconds of ['59', '604801', '1e3', ''])
      expect((await sluice.call('GET', `${path}?seconds=${seconds}`)).json.data.errors).toHaveProperty('seconds')
  })

  test('leaves an audit row without the link', async () => {
    const id = await recorded()
    const url = await linkTo(id)
    const rows = await sluice.app.ctx.store.read.audit.recent(sluice.accountId, 100)
    const row = rows.find(({ action, subject }) => action === 'recording.sign' && subject === id)
    expect(JSON.parse(row?.after ?? '')).toEqual({ expiresOn: expect.any(String) })
    expect(JSON.stringify(row)).not.toContain(url.searchParams.get('signature'))
  })
})

describe('the command line', () => {
  const cli = (...argv: string[]) => {
    const { app, accountId, base } = sluice
    const config = { ...app.config, server: { ...app.config.server, publicUrl: `${base}/` } }
    return run(['recording', ...argv, '--account', accountId], besideServer(app, config))
  }
  const listed = async (...flags: string[]): Promise<{ id: string }[]> =>
    JSON.parse((await cli('list', '--json', ...flags)).stdout)

  test('lists recordings as the API does, page after page, and shows one', async () => {
    const streamName = 'archive'
    const ids: string[] = []
    for (let at = 0; at < 101; at++) ids.push(await recorded({ streamName }))
    expect((await listed('--stream', streamName, '--limit', '200')).map(({ id }) => id)).toEqual(
      ids.toSorted().reverse(),
    )
    expect(await listed('--search', 'RCHIV', '--limit', '1')).toHaveLength(1)
    expect(await listed('--stream', 'archiv')).toEqual([])
    const [id = ''] = ids
    expect(JSON.parse((await cli('show', id, '--json')).stdout)).toEqual(
      (await sluice.call('GET', `/api/recordings/${id}`)).json.data,
    )
    expect(await cli('list', '--token', 'x')).toMatchObject({ status: 1, stderr: expect.stringContaining('tokenId') })
    expect(await cli('show', 'none')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('No recording with id'),
    })
  })

  test('makes a link that ends with the recording, which it deletes', async () => {
    const id = await recorded()
    const { stdout, status } = await cli('link', id, '--expires-in', '60')
    expect(status).toBe(0)
    const url = stdout.trim()
    expect(await get(url)).toMatchObject({ status: 200, text: MP4.toString() })
    const changed = new URL(url)
    changed.searchParams.set('by', 'u0-0')
    expect(await refusal(changed)).toEqual(FORBIDDEN)
    expect(await cli('link', id, '--expires-in', '59')).toMatchObject({ status: 2 })
    expect(await cli('delete', id)).toMatchObject({ status: 0, stdout: '' })
    expect(await refusal(url)).toEqual([404, 'Not found: this recording was deleted'])
    expect(await cli('delete', id)).toMatchObject({ status: 1 })
  })

  test('names the node that has the file', async () => {
    const away = await cli('link', await recorded({ hostKey: 'tape:/recordings' }))
    expect(away).toMatchObject({ status: 1, stderr: expect.stringContaining('on tape') })
  })
})
