import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { checkCountryDatabase, checkDiskSpace, checkDiskSpeed, checkKernelBuffers } from '../../src/cli/doctorDisk.ts'
import { checkClock } from '../../src/cli/doctorClock.ts'
import {
  checkOpenFiles,
  checkDataDirectory,
  checkMemory,
  checkRecordingsDirectory,
  checkTools,
  checkWebhookCertificates,
} from '../../src/cli/doctorMachine.ts'
import { checkHosts } from '../../src/cli/doctorPort.ts'
import { checkMediaPorts, checkPublicAddress, readMapped } from '../../src/cli/doctorNetwork.ts'
import { checkTls } from '../../src/cli/doctorTls.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { Config, PartialConfig } from '../../src/config/schema.ts'
import { countryFile } from '../support/countryFile.ts'

const dir = mkdtempSync(join(tmpdir(), 'sluice-doctor-'))
afterAll(() => rmSync(dir, { recursive: true }))

function configOf(flags: PartialConfig): Config {
  const config = loadConfig({ env: {}, flags: { data: { dir }, ...flags } })
  if (!config.ok) throw new Error(JSON.stringify(config.error))
  return config.value
}

/** A success answer to this request, that says which IPv4 address it came from. */
function answerTo(request: Buffer, address: string): Buffer {
  const head = Buffer.concat([Buffer.from([0x01, 0x01, 0, 12]), request.subarray(4, 20)])
  const masked = address.split('.').map((byte, at) => Number(byte) ^ (request[4 + at] ?? 0))
  return Buffer.concat([head, Buffer.from([0, 0x20, 0, 8, 0, 1, 0, 0, ...masked])])
}

/** A STUN server on loopback. `lost` requests get no answer first. */
async function stunServer(address: string, lost = 0): Promise<{ url: string; socket: Socket }> {
  const socket = createSocket('udp4')
  let requests = 0
  socket.on('message', (request, from) => {
    requests += 1
    if (requests > lost) socket.send(answerTo(request, address), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { url: `stun:127.0.0.1:${socket.address().port}`, socket }
}

const NAMES: Record<string, string[]> = { 'nat.example': ['198.51.100.7'], 'stun.example': ['127.0.0.1'] }
const addressesOf = async (name: string): Promise<string[]> => NAMES[name] ?? Promise.reject(new Error('no such name'))

async function publicAddress(seen: string, webrtc: PartialConfig['webrtc'] = {}, lost = 0) {
  const { url, socket } = await stunServer(seen, lost)
  try {
    return await checkPublicAddress(configOf({ webrtc: { ...webrtc, iceServers: [url] } }), addressesOf)
  } finally {
    socket.close()
  }
}

describe('the public address', () => {
  test('is fine when it is one of this machine, also when an answer is lost', async () => {
    expect(await publicAddress('127.0.0.1', {}, 1)).toMatchObject({ outcome: 'ok' })
  })

  test('behind NAT needs webrtc.publicAddresses, and the right one', async () => {
    const behind = await publicAddress('198.51.100.7')
    expect(behind).toMatchObject({ outcome: 'warn' })
    expect(behind.detail).toContain('others see 198.51.100.7; this machine is behind NAT: set webrtc.publicAddresses')
    expect(await publicAddress('198.51.100.7', { publicAddresses: ['198.51.100.7'] })).toMatchObject({ outcome: 'ok' })
    expect(await publicAddress('198.51.100.7', { publicAddresses: ['nat.example'] })).toMatchObject({ outcome: 'ok' })
    const wrong = await publicAddress('198.51.100.7', { publicAddresses: ['198.51.100.8'] })
    expect(wrong.detail).toContain('webrtc.publicAddresses has 198.51.100.8: correct it')
  })

  test('is unknown without an answer, which the check does not wait for long, and without a server', async () => {
    const { url, socket } = await stunServer('127.0.0.1', 99)
    const silent = await checkPublicAddress(configOf({ webrtc: { iceServers: [url] } }), addressesOf)
    socket.close()
    expect(silent).toMatchObject({ outcome: 'warn', detail: expect.stringContaining('no answer over UDP') as string })
    expect(await checkPublicAddress(configOf({}), addressesOf)).toMatchObject({ outcome: 'ok' })
  })

  test('is asked from servers by names that are looked up with a bound, since those of silent name servers kept the process', async () => {
    const { url, socket } = await stunServer('127.0.0.1')
    const check = (name: string) =>
      checkPublicAddress(configOf({ webrtc: { iceServers: [url.replace('127.0.0.1', name)] } }), addressesOf)
    expect(await check('stun.example')).toMatchObject({ outcome: 'ok' })
    expect(await check('silent.example')).toMatchObject({ code: 'address_silent' })
    socket.close()
  })

  test('is not taken from an answer to another request, or from one that is cut', () => {
    const request = Buffer.from([0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, ...Array.from({ length: 12 }, (_, n) => n)])
    const id = request.subarray(8)
    const answer = answerTo(request, '192.0.2.9')
    expect(readMapped(answer, id)).toBe('192.0.2.9')
    expect(readMapped(answer, Buffer.alloc(12, 9))).toBeNull()
    for (let length = 0; length < answer.length; length += 1)
      expect(readMapped(answer.subarray(0, length), id)).toBeNull()
  })
})

describe('a machine with IPv6 alone', () => {
  const address = (text: string, family: 'IPv4' | 'IPv6', scopeid = 0) => {
    const shared = { address: text, netmask: '', mac: '', internal: /^(127|::1)/.test(text), cidr: null }
    return family === 'IPv4' ? { ...shared, family } : { ...shared, family, scopeid }
  }
  const lo = [address('127.0.0.1', 'IPv4'), address('::1', 'IPv6')]
  const alone = [address('2001:db8::7', 'IPv6'), address('fe80::7', 'IPv6', 2)]

  test('is told which of its hosts no other machine reaches', () => {
    const [finding, ...others] = checkHosts(configOf({ srt: { host: '::' } }), { lo, eth0: alone })
    expect([finding?.outcome, others]).toEqual(['warn', []])
    expect(finding?.detail).toContain('server.host, rtmp.host listens on IPv4 alone')
    const config = configOf({ server: { host: '::' }, rtmp: { enabled: false }, srt: { enabled: false } })
    expect(checkHosts(config, { lo, eth0: alone })).toEqual([])
  })

  test('is not one with an IPv4 address, or without any address but its own', () => {
    const config = configOf({})
    expect(checkHosts(config, { lo, eth0: [...alone, address('192.0.2.7', 'IPv4')] })).toEqual([])
    expect(checkHosts(config, { lo, eth0: [address('fe80::7', 'IPv6', 2)] })).toEqual([])
    expect(checkHosts(config, { lo })).toEqual([])
  })
})

describe('the ports of media', () => {
  test('fail when another program has one, and are not checked while a server runs', async () => {
    const tcp = createServer().listen(0, '0.0.0.0')
    const udp = createSocket('udp6').bind(0, '::')
    const srt = createSocket('udp4').bind(0, '0.0.0.0')
    await Promise.all([once(tcp, 'listening'), once(udp, 'listening'), once(srt, 'listening')])
    const config = configOf({
      rtmp: { port: (tcp.address() as AddressInfo).port },
      srt: { port: srt.address().port },
      webrtc: { port: udp.address().port, processes: 1 },
    })
    const findings = await checkMediaPorts(config, false)
    expect(findings.map(({ check, outcome }) => [check, outcome])).toEqual([
      ['RTMP port', 'FAIL'],
      ['SRT port', 'FAIL'],
      ['UDP ports', 'FAIL'],
    ])
    expect(findings[1]?.detail).toContain('EADDRINUSE')
    expect(await checkMediaPorts(config, true)).toMatchObject([{ outcome: 'ok' }])
    tcp.close()
    udp.close()
    srt.close()
    const free = await checkMediaPorts(
      configOf({ rtmp: { enabled: false }, srt: { enabled: false }, webrtc: { port: 0 } }),
      false,
    )
    expect(free).toMatchObject([{ check: 'UDP ports', outcome: 'ok' }])
  })
})

describe('the machine', () => {
  test('has too small UDP buffers if the kernel says so, and nothing is said where it does not say', () => {
    const sized = (bytes: number) => checkKernelBuffers(() => `${bytes}\n`)
    expect(sized(212_992)).toMatchObject([{ outcome: 'warn' }])
    expect(sized(212_992)[0]?.detail).toContain('sysctl -w net.core.rmem_max=4194304 net.core.wmem_max=4194304')
    expect(sized(8_388_608)).toMatchObject([{ outcome: 'ok' }])
    const nothing = checkKernelBuffers(() => {
      throw new Error('no such file')
    })
    expect(nothing).toEqual([])
  })

  test('has room and a disk that was measured, without leaving the trial behind', async () => {
    expect(checkDiskSpace(configOf({}))[0]?.detail).toMatch(/^\d+ MB left in /)
    expect((await checkDiskSpeed(configOf({})))[0]?.detail).toMatch(/^a durable write takes \d+\.\d ms/)
    const full = checkDiskSpace(configOf({ recordings: { dir, minFreeMegabytes: 1_000_000 } }))
    expect(full.at(-1)?.detail).toContain('recordings.minFreeMegabytes')
  })

  test('has a disk that takes no file, which ends no other check', async () => {
    const config = configOf({ data: { dir: join(dir, 'gone') } })
    for (const [finding] of [await checkDiskSpeed(config), checkClock(config)])
      expect(finding).toMatchObject({
        outcome: 'FAIL',
        detail: expect.stringMatching(/gone: it does not exist; make room/),
      })
  })

  test('trusts receivers by a file of certificates, or the server does not start', () => {
    const file = join(dir, 'ca.pem')
    writeFileSync(file, 'no certificate')
    const [finding] = checkWebhookCertificates(configOf({ webhooks: { caFile: file } }))
    expect(finding).toMatchObject({
      outcome: 'FAIL',
      detail: expect.stringContaining('has no certificate in PEM form'),
    })
  })

  test('has memory for the server and its media processes, or a limit that is too low', () => {
    const memory = (megabytes: number) => checkMemory(configOf({ webrtc: { processes: 2 } }), megabytes * 1e6)
    expect(memory(430)).toMatchObject({ outcome: 'ok', detail: 'up to 430 MB' })
    const small = memory(429)
    expect(small).toMatchObject({ outcome: 'warn', check: 'memory' })
    expect(small.detail).toContain('up to 429 MB, and a server with 2 media processes needs 430: raise MemoryMax=')
  })

  test('has a limit of open files that is that of the server, or of the shell of the command', () => {
    const limit = (openFiles: number, where: 'here' | 'elsewhere' | 'none') =>
      checkOpenFiles(configOf({}), where, openFiles)[0]
    expect(limit(65_536, 'none')).toMatchObject({ outcome: 'ok', detail: 'the limit is 65536' })
    expect(limit(1024, 'here')).toMatchObject({ outcome: 'warn', detail: expect.stringMatching(/LimitNOFILE=\)$/) })
    expect(limit(1024, 'none')?.detail).toMatch(/^the limit of 1024 of this shell .*; a service has its own/)
    expect(limit(1024, 'elsewhere')).toMatchObject({ outcome: 'ok', check: 'open files' })
  })

  test('has recordings in the data directory that another user may have copied', () => {
    const config = configOf({ data: { dir: join(dir, 'copied') } })
    expect(checkRecordingsDirectory(config)).toEqual([])
    mkdirSync(join(dir, 'copied', 'recordings'), { recursive: true })
    expect(checkRecordingsDirectory(config)).toMatchObject([{ check: 'recordings directory', outcome: 'ok' }])
  })

  test('has directories, or folders where this user can make them', () => {
    const file = join(dir, 'file')
    writeFileSync(file, '')
    const outcome = (path: string) => checkDataDirectory(configOf({ data: { dir: path } }))
    expect(outcome(dir)).toMatchObject([{ outcome: 'ok' }])
    expect(outcome(file)).toMatchObject([{ outcome: 'FAIL', code: 'directory_wrong' }])
    expect(outcome(join(dir, 'not', 'yet'))).toMatchObject([{ outcome: 'warn', code: 'directory_new' }])
    const [impossible] = outcome(join(file, 'data'))
    expect(impossible).toMatchObject({ outcome: 'FAIL', code: 'directory_impossible' })
    expect(impossible?.detail).toContain(`this user cannot make it in ${file}`)
    expect(checkRecordingsDirectory(configOf({}))).toEqual([])
    const recordings = checkRecordingsDirectory(configOf({ recordings: { dir: join(file, 'recordings') } }))
    expect(recordings).toMatchObject([{ check: 'recordings directory', outcome: 'FAIL', code: 'directory_impossible' }])
  })

  test('has a place that the system does not let it look at, as in a folder of another user, and still makes the other checks', async () => {
    const loop = join(dir, 'loop')
    symlinkSync(loop, loop)
    const file = join(loop, 'file')
    const config = configOf({ recordings: { dir: file }, storage: { url: file }, geoip: { database: file } })
    expect(checkDiskSpace(config)).toMatchObject([{ check: 'disk space', code: 'disk_space' }])
    expect(checkCountryDatabase(config)).toMatchObject([{ outcome: 'FAIL', code: 'countries_missing' }])
    const tls = await checkTls(configOf({ tls: { certFile: file, keyFile: file } }), 0)
    expect(tls).toMatchObject([{ outcome: 'FAIL', detail: expect.stringContaining('tls.certFile') as string }])
  })

  test('has an ffmpeg with the encoders, or the doctor names those that it lacks', async () => {
    const path = join(dir, 'ffmpeg')
    writeFileSync(path, '#!/bin/sh\necho "ffmpeg version 9.9"\necho " A....D aac  AAC"\n')
    chmodSync(path, 0o755)
    const findings = await checkTools(configOf({ ffmpeg: { path } }))
    expect(findings).toMatchObject([
      { outcome: 'ok', detail: '9.9' },
      { check: 'ffmpeg network', outcome: 'ok' },
      { outcome: 'warn', detail: expect.stringMatching(/lacks libx264 \(.*\):/) },
      { outcome: 'warn', code: 'encoder_missing_libopus', values: {} },
    ])
  })

  test('has no ffmpeg, one that is too old, or one that does not run', async () => {
    const path = join(dir, 'wrong-ffmpeg')
    const check = async (script: string) => {
      writeFileSync(path, `#!/bin/sh\n${script}\n`)
      chmodSync(path, 0o755)
      const [finding] = await checkTools(configOf({ ffmpeg: { path } }))
      return finding
    }
    const [missing] = await checkTools(configOf({ ffmpeg: { path } }))
    expect(missing).toMatchObject({ outcome: 'warn', code: 'ffmpeg_missing' })
    for (const version of ['4.4.2-0ubuntu0.22.04.1', '5.0.1', 'n3.4'])
      expect(await check(`echo ffmpeg version ${version}`)).toMatchObject({ outcome: 'warn', code: 'ffmpeg_old' })
    for (const version of ['5.1.9-0+deb12u1', '10.0', 'n7.1', 'N-119-g12345', '2026-11-01-git-1234'])
      expect(await check(`echo ffmpeg version ${version}`)).toMatchObject({ outcome: 'ok', detail: version })
    const broken = { outcome: 'warn', code: 'ffmpeg_broken' }
    const lacking = 'echo "ffmpeg: libavdevice.so.59: cannot open shared object file" >&2; exit 127'
    expect(await check(lacking)).toMatchObject({
      ...broken,
      detail: expect.stringContaining('does not run: ffmpeg: libav'),
    })
    expect(await check('kill -SEGV $$')).toMatchObject({ ...broken, values: { problem: 'it was ended by SIGSEGV' } })
  })

  test('has a country database that is old, damaged, missing, or not configured', () => {
    const database = join(dir, 'countries.mmdb')
    const check = () => checkCountryDatabase(configOf({ geoip: { database } }))
    expect(check()).toMatchObject([{ outcome: 'FAIL', detail: expect.stringContaining('does not exist') }])
    writeFileSync(database, 'x')
    expect(check()).toMatchObject([{ outcome: 'FAIL', detail: expect.stringContaining('no server starts with it') }])
    writeFileSync(database, countryFile('NZ'))
    expect(check()).toMatchObject([{ outcome: 'ok' }])
    utimesSync(database, 0, 0)
    expect(check()).toMatchObject([{ outcome: 'warn' }])
    // Its provider made it in 1970, whenever it was copied.
    writeFileSync(database, countryFile('NZ', 60))
    expect(check()).toMatchObject([{ outcome: 'warn' }])
    expect(checkCountryDatabase(configOf({}))).toMatchObject([{ outcome: 'ok' }])
  })
})
