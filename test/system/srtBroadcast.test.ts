import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { StreamKeys } from '../../src/media/srt/keys.ts'
import { type CallOptions, SrtCaller } from '../media/srt/caller.ts'
import { BOTH, keyframe, deltaFrame, TsMuxer } from '../media/mpegts/muxer.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { clipFile } from '../support/clips.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'

let sluice: RunningApp
let token: string
let tokenId: number
let passphrase: string
const ends: (() => unknown)[] = []

beforeAll(async () => {
  sluice = await runApp()
  const made = await makeToken(sluice, 'publish', { displaySrtPassphrase: true })
  token = made.token
  tokenId = made.id
  passphrase = made.srtPassphrase ?? ''
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  await until(() => live().size === 0)
})
afterAll(() => sluice.close())

const live = () => sluice.app.ctx.sessions
/** Of the broadcast that is on the air. */
const framesOnAir = () => live().all()[0]?.media?.frames ?? 0
const short = () => Buffer.from(token, 'hex').toString('base64url')

async function call(options: CallOptions): Promise<SrtCaller> {
  const caller = await SrtCaller.call(sluice.srtPort ?? 0, options)
  ends.push(() => caller.leave())
  return caller
}

/** A broadcast on the air. */
async function broadcast(options: CallOptions): Promise<SrtCaller> {
  const caller = await call(options)
  expect(caller.answer).toBe(0)
  const ts = new TsMuxer()
  caller.send(ts.tables(BOTH.slice(0, 1)), ts.video(keyframe(), 0), ts.video(deltaFrame(), 3600))
  await until(() => live().feeds.all().length === 1)
  return caller
}

describe('a broadcast over SRT', () => {
  test('is decided by its token, is on the air with its first frame, and is off when it leaves', async () => {
    const caller = await broadcast({ streamId: `show?t=${short()}&sourceId=cam-1` })
    expect(live().feeds.all()[0]).toMatchObject({ streamName: 'show', sourceId: 'cam-1', tokenId })
    expect(live().all()[0]?.session).toMatchObject({ protocol: 'srt', action: 'publish', address: '127.0.0.1' })
    const onAir = (await sluice.call('GET', '/api/streams/live')).json.data
    expect(onAir).toMatchObject([{ streamName: 'show', protocol: 'srt', videoCodec: 'h264', width: 320 }])
    caller.shutDown()
    await until(() => live().size === 0)
    expect(live().feeds.all()).toEqual([])
  })

  test('is encrypted with the passphrase of its token', async () => {
    await broadcast({ streamId: `#!::r=show,s=${token},e`, passphrase })
  })

  test('ends when its token is deleted', async () => {
    const doomed = await makeToken(sluice, 'publish')
    const caller = await broadcast({ streamId: `show?token=${doomed.token}` })
    expect((await sluice.call('DELETE', `/api/publish_token/${doomed.id}`)).status).toBe(200)
    await until(() => caller.hasEnded)
    await until(() => live().size === 0)
  })

  test('counts its bytes', async () => {
    const caller = await broadcast({ streamId: `show?token=${token}` })
    await until(() => (live().all()[0]?.bytes.bytesIn ?? 0) > 500)
    caller.shutDown()
  })
})

describe('the passphrase of a token', () => {
  const show = { displaySrtPassphrase: true }

  test('is in each answer with the value if the token displays it, in no other and not in the audit log', async () => {
    const made = await makeToken(sluice, 'publish', show)
    const shown = made.srtPassphrase ?? ''
    expect(shown).toMatch(/^[\w-]{32}$/)
    const path = `/api/publish_token/${made.id}`
    const listed = async (query: string) =>
      (await sluice.call('GET', `/api/publish_token/list?${query}`)).json.data.find(
        ({ id }: { id: number }) => id === made.id,
      )
    expect((await sluice.call('GET', path)).json.data.srtPassphrase).toBe(shown)
    expect(await listed('')).toMatchObject({ srtPassphrase: shown })
    expect(await listed('includeValue=false')).not.toHaveProperty('srtPassphrase')
    const hidden = await sluice.call('PUT', path, { displaySrtPassphrase: false })
    expect(hidden.json.data).not.toHaveProperty('srtPassphrase')
    expect((await sluice.call('PUT', path, show)).json.data.srtPassphrase).toBe(shown)
    const audited = await sluice.app.ctx.store.read.audit.recent(sluice.accountId, 100)
    expect(JSON.stringify(audited)).not.toContain(shown)
  })

  test('opens until the value changes, whether it is displayed or not', async () => {
    const made = await makeToken(sluice, 'publish', show)
    const old = made.srtPassphrase ?? ''
    const path = `/api/publish_token/${made.id}`
    await sluice.call('PUT', path, { displaySrtPassphrase: false })
    await broadcast({ streamId: `show?t=${made.token}`, passphrase: old })
    const { token: value, srtPassphrase } = (await sluice.call('PUT', path, { ...show, refreshToken: true })).json.data
    expect((await call({ streamId: `show?t=${value}`, passphrase: old })).answer).toBe(1010)
    expect((await call({ streamId: `show?t=${value}`, passphrase: srtPassphrase })).answer).toBe(0)
  })

  test('opens after a change of the sealing key for as long as the server has the one before', async () => {
    const newKey = () => randomBytes(32).toString('base64')
    const [before, after] = [newKey(), newKey()]
    const dataDir = await mkdtemp(join(tmpdir(), 'sluice-srt-'))
    ends.push(() => rm(dataDir, { recursive: true }))
    const first = await runApp({ dataDir, flags: { secrets: { sealingKey: before } } })
    const made = await makeToken(first, 'publish', show)
    await first.close()
    const keys = { sealingKey: after, previousSealingKey: before }
    const second = await runApp({ dataDir, flags: { secrets: keys } })
    ends.push(() => second.close())
    const { srtPassphrase } = (await second.call('GET', `/api/publish_token/${made.id}`)).json.data
    expect(srtPassphrase).not.toBe(made.srtPassphrase)
    for (const one of [made.srtPassphrase ?? '', srtPassphrase]) {
      const caller = await SrtCaller.call(second.srtPort ?? 0, { streamId: `show?t=${made.token}`, passphrase: one })
      expect(caller.answer).toBe(0)
      await caller.leave()
    }
  })
})

describe('a caller is refused', () => {
  test.each([
    ['without a token', 'show', 1401],
    ['with an unknown token', `show?token=${'0'.repeat(64)}`, 1401],
    ['without a stream name', '?t=x', 1400],
    ['that wants to watch', '#!::r=show,m=request', 1405],
  ])('%s', async (_, streamId, code) => {
    expect((await call({ streamId })).answer).toBe(code)
  })

  test('where its token covers another stream', async () => {
    const { token: other } = await makeToken(sluice, 'publish', { streams: [{ streamName: 'other' }] })
    expect((await call({ streamId: `show?token=${other}` })).answer).toBe(1403)
  })

  test('whose token has allowed origins, which SRT has not', async () => {
    const { token: web } = await makeToken(sluice, 'publish', { allowedOrigins: ['example.com'] })
    expect((await call({ streamId: `show?token=${web}` })).answer).toBe(1403)
  })

  test('from an address that its token does not allow, because its address is proved', async () => {
    const { token: remote } = await makeToken(sluice, 'publish', { allowedIpAddresses: ['192.0.2.7'] })
    const { token: here } = await makeToken(sluice, 'publish', { allowedIpAddresses: ['127.0.0.1'] })
    expect((await call({ streamId: `show?token=${remote}` })).answer).toBe(1403)
    expect((await call({ streamId: `show?token=${here}` })).answer).toBe(0)
  })

  test('with another passphrase, or with none where its stream id demands one', async () => {
    const streamId = `show?t=${short()}&e`
    expect((await call({ streamId, passphrase: 'another-passphrase' })).answer).toBe(1010)
    expect((await call({ streamId })).answer).toBe(1011)
  })
})

test('a server may demand encryption of all publishers, at run time', async () => {
  await sluice.reload({ srt: { encryption: 'required' } })
  ends.push(() => sluice.reload({}))
  const streamId = `show?t=${short()}`
  expect((await call({ streamId })).answer).toBe(1011)
  expect((await call({ streamId, passphrase })).answer).toBe(0)
})

describe('ffmpeg as caller', () => {
  const SOURCE =
    '-f lavfi -i testsrc2=size=320x240:rate=25:duration=4 -f lavfi -i sine=frequency=440:sample_rate=48000:duration=4 ' +
    '-c:v libx264 -preset veryfast -g 25 -bf 0 -c:a aac -ac 2 -f mpegts'

  function push(query: string): { child: ChildProcess; log: () => string } {
    const url = `srt://127.0.0.1:${sluice.srtPort}?${query}`
    const args = ['-v', 'error', '-re', '-stream_loop', '-1', '-f', 'mpegts', '-i', clipFile(SOURCE, 'ts')]
    const child = spawn('ffmpeg', [...args, '-c', 'copy', '-f', 'mpegts', url], { stdio: ['ignore', 'ignore', 'pipe'] })
    let log = ''
    child.stderr.on('data', (data: Buffer) => (log += data.toString()))
    ends.push(async () => {
      const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null
      // It says goodbye.
      child.kill('SIGTERM')
      await ended
    })
    return { child, log: () => log }
  }

  const isLive = () => until(() => live().feeds.all().length === 1)

  test.each([
    ['in the clear', () => `streamid=show%3Ft%3D${short()}`],
    ['with AES-128', () => `streamid=show%3Ft%3D${short()}%26e&passphrase=${passphrase}&pbkeylen=16`],
    ['with AES-192', () => `streamid=show%3Ft%3D${short()}&passphrase=${passphrase}&pbkeylen=24`],
    [
      'with AES-256',
      () => `streamid=${encodeURIComponent(`#!::r=show,s=${token}`)}&passphrase=${passphrase}&pbkeylen=32`,
    ],
  ])('is on the air, %s', async (_, query) => {
    push(query())
    await isLive()
    const { accountId } = sluice
    await until(async () => {
      const answer = await fetch(`${sluice.base}/hls/${accountId}/show/index.m3u8`)
      return (await answer.text()).includes('avc1')
    })
  })

  test('changes its keys, and all of its packets are decrypted', async () => {
    const refresh = 'kmrefreshrate=64&kmpreannounce=16'
    push(`streamid=show%3Ft%3D${short()}&passphrase=${passphrase}&${refresh}`)
    await isLive()
    const refreshed = vi.spyOn(StreamKeys.prototype, 'refresh')
    const decrypted = vi.spyOn(StreamKeys.prototype, 'decrypt')
    onTestFinished(() => void vi.restoreAllMocks())
    // The even key and the odd one in turns, each new one of its own.
    const used = () => decrypted.mock.calls.map(([, which]) => which).filter((which, at, all) => which !== all[at - 1])
    await until(() => used().length > 3)
    expect(await Promise.all(refreshed.mock.results.map(({ value }) => value as Promise<boolean>))).not.toContain(false)
    expect(decrypted.mock.results.filter(({ value }) => value === null)).toEqual([])
    expect(live().feeds.all()).toHaveLength(1)
    await until(() => framesOnAir() > 100)
  })

  test('is refused with a code that its library knows as one of an application', async () => {
    const { child, log } = push('streamid=show')
    await once(child, 'exit')
    expect(log()).toContain('Application-defined rejection reason')
  })
})
