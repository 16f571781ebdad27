import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addressesForDoctor } from '../../src/app/health.ts'
import { behindOf, checkTime } from '../../src/cli/doctorTime.ts'
import { udpEndpoint } from '../../src/cli/udpQuestion.ts'

const NTP_EPOCH_MS = -2_208_988_800_000
/** Version 4, mode 4 (server). */
const SERVER = 0x24

interface Told {
  readonly first?: number
  readonly stratum?: number
}

/** The answer of a server whose clock says this when it receives and answers the request. */
function answerTo(request: Buffer, nowMs: number, { first = SERVER, stratum = 2 }: Told = {}): Buffer {
  const answer = Buffer.alloc(48)
  answer.writeUInt8(first)
  answer.writeUInt8(stratum, 1)
  request.copy(answer, 24, 40, 48)
  for (const at of [32, 40]) {
    const seconds = (nowMs - NTP_EPOCH_MS) / 1000
    answer.writeUInt32BE(Math.floor(seconds) % 2 ** 32, at)
    answer.writeUInt32BE(Math.floor((seconds % 1) * 2 ** 32), at + 4)
  }
  return answer
}

/** A time server on loopback. `lost` requests get no answer first. */
async function timeServer(
  answer: (request: Buffer) => Buffer,
  lost = 0,
): Promise<{ endpoint: string; socket: Socket }> {
  const socket = createSocket('udp4')
  let requests = 0
  socket.on('message', (request, from) => {
    requests += 1
    if (requests > lost) socket.send(answer(request), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { endpoint: `127.0.0.1:${socket.address().port}`, socket }
}

async function asked(answer: (request: Buffer) => Buffer, lost = 0) {
  const { endpoint, socket } = await timeServer(answer, lost)
  try {
    return await checkTime(endpoint, addressesForDoctor)
  } finally {
    socket.close()
  }
}

describe('the clock', () => {
  test('agrees with a time server, also when an answer is lost', async () => {
    expect(await asked((request) => answerTo(request, Date.now()), 1)).toMatchObject([{ outcome: 'ok' }])
  })

  test('is behind or ahead by seconds, or by more than tokens tolerate', async () => {
    const [behind] = await asked((request) => answerTo(request, Date.now() + 10_000))
    expect(behind).toMatchObject({
      outcome: 'warn',
      detail: expect.stringMatching(/^(9|10)\.\d s behind 127/) as string,
    })
    const [ahead] = await asked((request) => answerTo(request, Date.now() - 3_600_000))
    expect(ahead).toMatchObject({
      outcome: 'FAIL',
      detail: expect.stringMatching(/^3\d{3}\.\d s ahead of 127/) as string,
    })
  })

  test('is not compared without an answer, with a mistyped server, or without one', async () => {
    const silent = await asked((request) => answerTo(request, Date.now()), 99)
    expect(silent).toMatchObject([{ outcome: 'warn', detail: expect.stringContaining('no answer') as string }])
    for (const endpoint of ['', 'a b', 'host:0', 'host:70000', 'host:1:2', '::1'])
      expect(await checkTime(endpoint, addressesForDoctor), endpoint).toMatchObject([{ outcome: 'FAIL' }])
    expect(await checkTime(undefined, addressesForDoctor)).toMatchObject([
      { outcome: 'ok', detail: 'not asked: name a time server with --time-server HOST' },
    ])
  })

  const id = Buffer.from('0102030405060708', 'hex')
  const request = Buffer.concat([Buffer.alloc(40), id])
  const sent = new Map([[id.toString('hex'), 1_000]])

  test('is not set by another request, by an unsynchronised server, a kiss of death, a client, or a cut answer', () => {
    const at = Date.UTC(2026, 0, 1)
    const read = (message: Buffer): number | null => behindOf(message, sent, 1_000)
    expect(read(answerTo(request, at))).toBe(at - 1_000)
    expect(read(answerTo(Buffer.alloc(48), at))).toBeNull()
    for (const told of [{ first: SERVER | 0xc0 }, { stratum: 0 }, { stratum: 16 }, { first: 0x23 }])
      expect(read(answerTo(request, at, told))).toBeNull()
    fc.assert(fc.property(fc.uint8Array({ maxLength: 47, size: 'max' }), (bytes) => read(Buffer.from(bytes)) === null))
  })

  test('is read in the era that begins in 2036, too', () => {
    for (const at of [Date.UTC(2036, 1, 7, 6, 28, 15), Date.UTC(2036, 1, 7, 6, 28, 16), Date.UTC(2070, 0, 1)])
      expect(behindOf(answerTo(request, at), sent, 1_000)).toBe(at - 1_000)
  })
})

test('an endpoint is a name or an address, with a port or without', () => {
  expect(udpEndpoint('pool.ntp.org', 123)).toEqual({ host: 'pool.ntp.org', port: 123 })
  expect(udpEndpoint('192.0.2.1:1234', 123)).toEqual({ host: '192.0.2.1', port: 1234 })
  expect(udpEndpoint('[2001:db8::1]:1234', 123)).toEqual({ host: '2001:db8::1', port: 1234 })
})
