import { chmodSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { command, endServers, newDirectory, serve, sluice, statusWith, type Served, watching } from './cliProcess.ts'

interface Listed {
  id: number
  name: string
  hint: string
}

const parsed = (text: string): unknown => JSON.parse(text)

afterAll(endServers)

describe('beside a server', () => {
  const dir = newDirectory()
  let server: Served
  const at = (...argv: string[]) => sluice(['--data', dir, ...argv])

  beforeAll(async () => {
    server = await serve(['--data', dir])
  })

  afterAll(async () => {
    server.signal('SIGTERM')
    await server.ended
    rmSync(dir, { recursive: true })
  })

  it('an API secret opens the interface when it is made, and is refused when it is refreshed or deleted', async () => {
    const made = await at('secret', 'create', '--name', 'ci')
    expect(made).toMatchObject({ status: 0, stderr: '', stdout: expect.stringMatching(/^[\w-]{43}\n$/) as string })
    const first = made.stdout.trim()
    expect(await statusWith(server.url, first)).toBe(200)

    const refreshed = await at('secret', 'refresh', '1', '--json')
    const { secret: second, ...record } = parsed(refreshed.stdout) as Listed & { secret: string }
    expect(record).toMatchObject({ id: 1, name: 'ci', hint: second.slice(-4) })
    await expect.poll(() => statusWith(server.url, first)).toBe(401)
    expect(await statusWith(server.url, second)).toBe(200)

    const list = await at('secret', 'list', '--json')
    expect(parsed(list.stdout)).toEqual([expect.objectContaining({ id: 1, name: 'ci', hint: second.slice(-4) })])
    expect(list.stdout).not.toContain(second)

    expect(await at('secret', 'delete', '1')).toEqual({ status: 0, stdout: '', stderr: '' })
    await expect.poll(() => statusWith(server.url, second)).toBe(401)
  })

  it('a list is watched until Ctrl+C, or until its reader is gone', async () => {
    const watch = (form: string) => watching(['--data', dir, 'session', 'list', '--watch', form])
    const [interrupted, unread] = await Promise.all([watch('--json'), watch('--csv')])
    await expect.poll(() => interrupted.lines().slice(0, 2)).toEqual(['[]', '[]'])
    const firstLines = [expect.stringMatching(/^time,id,/), expect.stringMatching(/^20.+Z,,/)]
    await expect.poll(() => unread.lines().slice(0, 2)).toEqual(firstLines)
    interrupted.signal('SIGINT')
    unread.closePipe()
    expect(await Promise.all([interrupted.ended, unread.ended])).toEqual([0, 0])
  })
})

describe('a store of its own', () => {
  const dir = newDirectory()
  const at = (...argv: string[]) => command(['--data', dir, ...argv])
  const view = (token: string, ...more: string[]) =>
    at('check', '--action', 'view', '--stream', 'studio-1', '--ip', '192.0.2.7', '--token', token, ...more)

  afterAll(() => rmSync(dir, { recursive: true }))

  it('has one account; with a second one, commands require a choice', async () => {
    const own = newDirectory()
    const at = (...argv: string[]) => command(['--data', own, ...argv])
    const list = await at('account', 'list', '--json')
    const [first] = parsed(list.stdout) as { id: string }[]
    expect(first?.id).toMatch(/^[a-z0-9]{6}$/)

    const second = await at('account', 'create', '--name', 'second')
    expect(second.stdout).toMatch(/^[a-z0-9]{6}\n$/)
    expect(await at('secret', 'list')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/ account list` with --account ID/) as string,
    })
    const named = await at('secret', 'list', '--account', second.stdout.trim(), '--json')
    expect(named).toEqual({ status: 0, stdout: '[]\n', stderr: '' })
    rmSync(own, { recursive: true })
  })

  it('adds targets to a publish token and takes them away, and shows the end of their keys', async () => {
    const own = newDirectory()
    const within = (argv: string[], input = '') => command(['--data', own, ...argv], { input })
    await within(['token', 'create', '--label', 'Studio', '--stream', 'studio'])
    const youTube = 'rtmps://a.rtmps.youtube.com/live2'
    const add = (url: string, key: string, ...more: string[]) =>
      within(['restream', 'add', '1', url, ...more, '--json'], `${key}\n`)
    await add(youTube, 'abcd-efgh-ijkl-mnop', '--label', 'YouTube')
    const both = await add('rtmp://live.example.com/app', 'live_0123456789', '--transcode')
    const shown = [
      { url: youTube, key: '••••mnop', label: 'YouTube', enabled: true, transcode: false },
      { url: 'rtmp://live.example.com/app', key: '••••789', label: '', enabled: true, transcode: true },
    ]
    expect(parsed(both.stdout)).toEqual(shown)
    const refused = await add('ftp://live.example.com/app', 'live_0123456789')
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('must begin with rtmp://') })
    const listed = await add('srt://live.example.com:9000?passphrase=correct-horse', '')
    expect(listed).toMatchObject({ status: 2, stderr: expect.stringContaining('belong on standard input') })
    const studio = await add('srt://live.example.com:9000?latency=500', 'streamid=a-stream&passphrase=correct-horse')
    const masked = 'srt://live.example.com:9000?latency=500&streamid=••••am&passphrase=••••rse'
    expect(parsed(studio.stdout)).toMatchObject([...shown, { url: masked, key: '' }])
    await within(['restream', 'remove', '1', '3'])
    const switches = async (verb: string, n: string) => {
      const answer = await within(['restream', verb, '1', n, '--json'])
      return answer.status === 0
        ? (parsed(answer.stdout) as { enabled: boolean }[]).map((one) => one.enabled)
        : answer.stderr
    }
    expect(await switches('disable', '2')).toEqual([true, false])
    expect(await switches('enable', '2')).toEqual([true, true])
    expect(await switches('disable', '3')).toContain('has no target 3')
    expect(parsed((await within(['restream', 'events', 'studio', '--json'])).stdout)).toEqual([])
    const ranked = await within(['stream', 'reprioritize', '1', '--priority', '10', '--json'])
    expect(parsed(ranked.stdout)).toEqual({ stoppingLevel: 'None' })
    expect(parsed((await within(['token', 'show', '1', '--json'])).stdout)).toMatchObject({ priority: 10 })
    expect(await within(['stream', 'reprioritize', '1'])).toMatchObject({ status: 2 })
    expect(await within(['restream', 'sync', '1'])).toMatchObject({ status: 0, stdout: '' })
    expect(parsed((await within(['restream', 'remove', '1', '1', '--json'])).stdout)).toEqual(shown.slice(1))
    expect((await within(['restream', 'list', '1'])).stdout).toContain('••••789')
    expect((await within(['restream', 'remove', '1', '2'])).status).toBe(1)
    rmSync(own, { recursive: true })
  })

  it('adds targets to an engine with the same commands, and keeps their keys when it changes others', async () => {
    const own = newDirectory()
    const within = (argv: string[], input = '') => command(['--data', own, ...argv], { input })
    const channel = (await within(['channel', 'create', '--name', 'Stage'])).stdout.trim()
    const { engines } = parsed((await within(['channel', 'show', channel, '--json'])).stdout) as {
      engines: { id: string }[]
    }
    const id = engines[0]?.id ?? ''
    const add = (url: string, key: string, ...more: string[]) =>
      within(['restream', 'add', id, url, ...more, '--json'], key)
    await add('rtmps://live.example.com/app', 'live_0123456789', '--label', 'TV')
    const both = await add('rtsp://user@media.example.com/show', 'a-password')
    const first = { id: '1', url: 'rtmps://live.example.com/app', key: '••••789', label: 'TV', enabled: true }
    const second = { id: '2', url: 'rtsp://user:••••rd@media.example.com/show', key: '', label: '', enabled: true }
    expect(parsed(both.stdout)).toEqual([first, second])
    const refused = await add('rtmp://live.example.com/app', 'live_0123456789', '--transcode')
    expect(refused).toMatchObject({ status: 2, stderr: expect.stringContaining('without --transcode') })
    const disabled = await within(['restream', 'disable', id, '2', '--json'])
    expect(parsed(disabled.stdout)).toEqual([first, { ...second, enabled: false }])
    expect(await within(['restream', 'sync', id])).toMatchObject({ status: 0, stdout: '' })
    expect((await within(['restream', 'remove', id, '3'])).stderr).toContain('The engine has no target 3')
    expect(parsed((await within(['restream', 'remove', id, '1', '--json'])).stdout)).toMatchObject([{ id: '2' }])
    expect((await within(['restream', 'list', 'en_none'])).status).toBe(1)
    rmSync(own, { recursive: true })
  })

  it('creates tokens, signs with them, checks them and revokes signed tokens', async () => {
    const hls = ['--rendition', '360:600000', '--rendition', '480:1200000', '--hls-codecs', 'source']
    const publish = await at('token', 'create', '--label', 'Studio 1', '--stream', 'studio-1', '--secure', ...hls)
    expect(publish.stderr).toMatch(/\nThe id of this publish token is 1\.\n$/)
    expect(publish.stdout).toMatch(/^[0-9a-f]{64}\n$/)
    expect(parsed((await at('token', 'show', '1', '--json')).stdout)).toMatchObject({
      hlsRenditions: [
        { height: 480, bitrate: 1_200_000 },
        { height: 360, bitrate: 600_000 },
      ],
      hlsCodecs: 'source',
    })
    const body = JSON.stringify({ label: 'Guests', streams: [{ streamName: 'studio-.*', isRegex: true }] })
    const made = await command(['--data', dir, 'token', 'create', '--kind', 'subscribe', '--body', '-', '--json'], {
      input: body,
    })
    expect(parsed(made.stdout)).toMatchObject({
      id: 2,
      label: 'Guests',
      token: expect.stringMatching(/^[0-9a-f]{64}$/),
    })

    const signed = await at('token', 'sign', '--parent-id', '2', '--stream', 'studio-1', '--jti', 'j1')
    const jwt = signed.stdout.trim()
    const [allowed, anonymous, wrong] = await Promise.all([view(jwt), view(''), view('00'.repeat(32), '--json')])
    expect(allowed).toMatchObject({ status: 0, stdout: expect.stringMatching(/^allowed\n\ncheck +outcome +detail\n/) })
    expect(anonymous.status).toBe(1)
    expect(wrong).toMatchObject({ status: 1, stderr: '' })
    expect(parsed(wrong.stdout)).toMatchObject({ allowed: false, code: 'invalid_token' })

    expect(await at('token', 'revoke', '2', '--jti', 'j1')).toMatchObject({ status: 0, stdout: '' })
    expect(await view(jwt)).toMatchObject({ status: 1, stdout: expect.stringContaining('token_revoked') })

    const log = await at('access', 'log', '--code', 'invalid_token', '--json')
    const seen = { streamName: 'studio-1', count: 1, lastAt: expect.any(String), source: 'check' }
    expect(parsed(log.stdout)).toMatchObject([seen])
    const missing = await at('access', 'log', '--code', 'token_missing', '--json')
    expect(parsed(missing.stdout)).toMatchObject([seen])
    const shown = await at('access', 'log', '--stream', 'studio-1', '--limit', '1')
    expect(shown.stdout).toMatch(/^first .+ stream +token +address +why +message\n.+token_revoked +Unauthorized: .+\n$/)
    expect(await at('access', 'log', '--code', 'nonsense')).toMatchObject({ status: 1 })

    const [list, gone, refused] = await Promise.all([
      at('token', 'list', '--json'),
      at('token', 'show', '9', '--json'),
      at('token', 'create', '--label', 'x', '--stream', 's', '--ip', 'nowhere', '--json'),
    ])
    expect(parsed(list.stdout)).toEqual([expect.objectContaining({ id: 1, label: 'Studio 1' })])
    expect(gone).toMatchObject({ status: 1, stdout: '' })
    expect(parsed(gone.stderr)).toMatchObject({ code: 'not_found', message: 'No publish token with id: 9' })
    expect(refused.status).toBe(1)
    expect(parsed(refused.stderr)).toMatchObject({
      code: 'validation',
      errors: { 'allowedIpAddresses[0]': [expect.any(String)] },
    })
  })

  it('a country file that cannot be read stops only the commands that need a country; the others warn', async () => {
    const own = newDirectory()
    const database = join(own, 'damaged.mmdb')
    writeFileSync(database, 'no database')
    const env = { SLUICE_GEOIP_DATABASE: database }
    const stderr = expect.stringContaining(`geoip.database: ${database} cannot be read as an MMDB file`) as string
    const at = (...argv: string[]) => command(['--data', own, ...argv], { env })
    expect(await at('token', 'create', '--label', 'a', '--stream', 'cam')).toMatchObject({ status: 0, stderr })
    const check = ['check', '--action', 'publish', '--stream', 'cam', '--ip', '192.0.2.7', '--token-id', '1']
    expect(await at(...check)).toMatchObject({ status: 1, stdout: '', stderr })
    expect(await at(...check, '--country', 'DE')).toMatchObject({ status: 0, stderr })
  })

  it('creates users and credentials, and prints each secret alone', async () => {
    const [generated, credential] = await Promise.all([
      at('user', 'create', '--email', 'ann@example.com'),
      at('credential', 'create', '--name', 'player', '--scope', 'read'),
    ])
    expect(generated).toMatchObject({ status: 0, stderr: '', stdout: expect.stringMatching(/^[\w-]{24}\n$/) })
    expect(credential).toMatchObject({ status: 0, stderr: '', stdout: expect.stringMatching(/^\w+:[\w-]{43}\n$/) })
    const again = ['--data', dir, 'user', 'create', '--email', 'ann@example.com', '--password-stdin']
    const [taken, list] = await Promise.all([
      command(again, { input: 'correct horse battery\n' }),
      at('credential', 'list', '--json'),
    ])
    expect(taken).toMatchObject({ status: 1, stdout: '' })
    expect(parsed(list.stdout)).toEqual([expect.objectContaining({ name: 'player', scope: 'read' })])
  })

  it("passes the doctor's checks, and the doctor names each problem", async () => {
    const blocker = createServer()
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve))
    const { port } = blocker.address() as AddressInfo
    const ports = { SLUICE_RTMP_PORT: '0', SLUICE_SRT_PORT: '0', SLUICE_WEBRTC_PORT: '0' }
    const free = { SLUICE_SERVER_HOST: '127.0.0.1', SLUICE_SERVER_PORT: '0', ...ports }
    const doctor = (env: Record<string, string>) => command(['--data', dir, 'doctor'], { env })
    const untried = { ...free, SLUICE_FFMPEG_PATH: '/nowhere/ffmpeg' } // To try encoders takes a second.
    const otherKey = Buffer.alloc(32, 7).toString('base64')
    await at('token', 'create', '--label', 'Press', '--stream', 's', '--expires', '86400')
    const [healthy, blocked, misconfigured, wrongKey, noCertificates] = await Promise.all([
      doctor(free),
      doctor({ ...untried, SLUICE_SERVER_PORT: String(port) }),
      doctor({ ...untried, SLUICE_SERVER_PORT: 'many', SLUICE_LOG_LEVEL: 'loud' }),
      doctor({ ...untried, SLUICE_SECRETS_SEALING_KEY: otherKey }),
      doctor({ ...untried, SLUICE_WEBHOOKS_CA_FILE: join(dir, 'no-such.pem') }),
    ])
    blocker.close()
    expect(healthy.status).toBe(0)
    expect(healthy.stdout).toMatch(/^ok +sealing key +opens existing tokens$/m)
    expect(healthy.stdout).toMatch(/^warn +attention +The publish token Press expires on /m)
    expect(healthy.stdout).not.toContain('FAIL')
    expect(blocked).toMatchObject({ status: 1, stdout: expect.stringMatching(/^FAIL +port .*in use/m) })
    expect(misconfigured.status).toBe(1)
    expect(misconfigured.stdout).toMatch(/^FAIL +configuration +SLUICE_SERVER_PORT: server\.port: /m)
    expect(misconfigured.stdout).toMatch(/^FAIL +configuration +SLUICE_LOG_LEVEL: log\.level: /m)
    expect(wrongKey).toMatchObject({ status: 1, stdout: expect.stringMatching(/^FAIL +sealing key /m) })
    const aboutFile = /^FAIL +webhook certificates .*no-such\.pem cannot be read/m
    expect(noCertificates).toMatchObject({ status: 1, stdout: expect.stringMatching(aboutFile) })
    expect(wrongKey.stdout + wrongKey.stderr).not.toContain(otherKey)
  })

  it('is not opened by the doctor if its sealing key is lost, because that would create a new one', async () => {
    const copy = newDirectory()
    writeFileSync(join(copy, 'sluice.db'), '')
    const file = join(copy, 'file')
    writeFileSync(file, '')
    const doctor = (data: string, ...form: string[]) =>
      command(['--data', data, 'doctor', ...form], { env: { SLUICE_FFMPEG_PATH: '/nowhere/ffmpeg' } })
    const all = [doctor(copy, '--json'), doctor(file), doctor(join(copy, 'not', 'there'))] as const
    const [lost, noDirectory, missing] = await Promise.all(all)
    expect(lost.status).toBe(1)
    expect(parsed(lost.stdout)).toMatchObject({
      ok: false,
      checks: expect.arrayContaining([expect.objectContaining({ check: 'sealing key', outcome: 'FAIL' })]),
    })
    expect(readdirSync(copy).sort()).toEqual(['file', 'sluice.db'])
    expect(noDirectory).toMatchObject({ status: 1, stdout: expect.stringMatching(/^FAIL +data directory /m) })
    expect(missing.stdout).toMatch(/^warn +data directory .*does not exist yet/m)
    expect(existsSync(join(copy, 'not'))).toBe(false)
    rmSync(copy, { recursive: true })
  })
})

describe('serve', () => {
  it('explains how to create a secret, refuses a second start without side effects, and closes its store on SIGTERM', async () => {
    const dir = newDirectory()
    const server = await serve(['--data', dir])
    await expect.poll(() => server.log()).toContain('secret create --name NAME')
    const remote = join(dir, 'second')
    const again = ['serve', '--host', '127.0.0.1', '--port', String(server.port), '--data', remote]
    const second = await sluice(again, { env: { SLUICE_RTMP_PORT: '0', SLUICE_SRT_PORT: '0' } })
    expect(second).toMatchObject({ status: 1, stdout: '' })
    expect(second.stderr).toMatch(/^sluice: 127\.0\.0\.1 port \d+ is in use by another process.*\n$/)
    expect(existsSync(remote)).toBe(false)
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)

    server.signal('SIGTERM')
    expect(await server.ended).toBe(0)
    expect(server.log()).toContain('"message":"stopped"')
    expect(readdirSync(dir).sort()).toEqual(['host', 'lock', 'sealing.key', 'sluice.db'])
    rmSync(dir, { recursive: true })
  })

  it('finishes a request in progress after the first signal, and exits at once on a signal a second later', async () => {
    const dir = newDirectory()
    const server = await serve(['--data', dir], { SLUICE_SERVER_SHUTDOWN_GRACE_SECONDS: '600' })
    const client = connect(server.port, '127.0.0.1')
    client.on('error', () => {})
    client.write('POST /api/access/check HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n')
    // Another request on another connection proves that the first one has arrived.
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    server.signal('SIGTERM')
    await expect.poll(() => server.log()).toContain('"message":"stopping"')
    expect(server.log()).not.toContain('"message":"stopped"')
    // Signals within one second count as one request.
    let status: number | null = null
    void server.ended.then((code) => (status = code))
    await expect
      .poll(() => {
        if (status === null) server.signal('SIGINT')
        return status
      })
      .toBe(130)
    client.destroy()
    rmSync(dir, { recursive: true })
  })

  it('names every problem of its configuration and of its data directory, and exits with 1', async () => {
    const dir = newDirectory()
    const file = join(dir, 'config.yaml')
    writeFileSync(file, 'server:\n  port: many\n  hots: 127.0.0.1\n')
    const unreadable = join(dir, 'sealing.key')
    writeFileSync(unreadable, 'not a key')
    chmodSync(unreadable, 0o600)
    const [config, key] = await Promise.all([
      sluice(['serve', '--config', file, '--data', join(dir, 'data')]),
      sluice(['serve', '--host', '127.0.0.1', '--port', '0', '--data', dir], {
        env: { SLUICE_RTMP_PORT: '0', SLUICE_SRT_PORT: '0', SLUICE_WEBRTC_PORT: '0' },
      }),
    ])
    expect(config).toMatchObject({ status: 1, stdout: '' })
    expect(config.stderr).toMatch(/config\.yaml:2: server\.port: .*allowed: /)
    expect(config.stderr).toMatch(/config\.yaml:3: .*host/)
    expect(existsSync(join(dir, 'data'))).toBe(false)
    expect(key.status).toBe(1)
    expect(key.stderr).toMatch(/^sluice: the key file .*sealing\.key .*\n$/)
    rmSync(dir, { recursive: true })
  })
})
