import { createSocket } from 'node:dgram'
import { connect, type Socket } from 'node:net'
import { RtpHeader } from 'werift'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bindingRequest } from '../../src/media/relay/wire/stun.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { makeToken } from '../support/testNode.ts'
import { pace, until } from '../support/until.ts'
import { TestPublisher, TestViewer } from '../support/rtcPeer.ts'

let sluice: RunningApp
let udpPort: number
let token: string
const publisher = new TestPublisher()
const viewer = new TestViewer()
/** The server's ICE username fragment for the publisher, which anyone on its network path sees. */
let username: string

beforeAll(async () => {
  const webrtc = { host: '127.0.0.1', port: 0, processes: 1 }
  sluice = await runApp({ flags: { webrtc, server: { requestTimeoutSeconds: 1 } } })
  token = (await makeToken(sluice, 'publish')).token
  const answer = await offer('whip/show', await publisher.offer())
  username = `${/a=ice-ufrag:(\S+)/.exec(answer.text)?.[1]}:peer`
  udpPort = Number(/^a=candidate:\S+ 1 udp \d+ 127\.0\.0\.1 (\d+) typ host/im.exec(answer.text)?.[1])
  await publisher.accept(answer.text)
  publisher.play()
  await until(() => sluice.app.ctx.sessions.feeds.all().length === 1)
  const watched = await offer(`whep/${sluice.accountId}/show`, await viewer.offer())
  expect(watched.status).toBe(201)
  await viewer.accept(watched.text)
  await until(() => viewer.packets.length > 10)
})
afterAll(async () => {
  await Promise.all([publisher.close(), viewer.close()])
  await sluice.close()
})

async function offer(path: string, body: string): Promise<{ status: number; text: string }> {
  const bearer = path.startsWith('whip') ? { authorization: `Bearer ${token}` } : {}
  const headers = { 'content-type': 'application/sdp', ...bearer }
  const response = await fetch(`${sluice.base}/api/${path}`, { method: 'POST', headers, body })
  return { status: response.status, text: await response.text() }
}

/**
 * The broadcast continues: from now on this number of consecutive packets arrive once and in order. Earlier ones may be
 * lost, because the port was flooded.
 */
async function expectUndisturbed(inARow = 20): Promise<void> {
  const before = viewer.packets.length
  await until(() => {
    const numbers = viewer.packets.slice(before).map(({ header }) => header.sequenceNumber)
    const latest = numbers.slice(-inARow)
    return (
      latest.length === inARow && latest.slice(1).every((number, at) => number === (((latest[at] ?? 0) + 1) & 0xffff))
    )
  })
  expect(sluice.app.ctx.sessions.size).toBe(2)
}

test('hostile offers are refused with a reason, and leave no session', async () => {
  const good = await new TestPublisher().offer()
  const lines = (count: number) => good + 'm=audio 9 UDP/TLS/RTP/SAVPF 0\r\n'.repeat(count)
  const offers = [
    lines(1000),
    good.replaceAll(/a=fingerprint:.*\r\n/g, ''),
    good.replaceAll(/a=ice-pwd:.*\r\n/g, 'a=ice-pwd:x\r\n'),
    good.replaceAll(/a=ice-ufrag:.*\r\n/g, `a=ice-ufrag:${'u'.repeat(5000)}\r\n`),
    good.replace('m=video', 'm='),
    'v=0\r\n'.repeat(5000),
    '\0'.repeat(1000),
  ]
  for (const sdp of offers) {
    const { status, text } = await offer('whip/other', sdp)
    expect([400, 406]).toContain(status)
    expect(text.length).toBeGreaterThan(10)
  }
  await expectUndisturbed()
})

test('a flood of checks and of garbage gets no answer', async () => {
  const flood = createSocket('udp4')
  let answers = 0
  flood.on('message', () => (answers += 1))
  const check = (name: string) => {
    const credentials = { username: name, password: 'a password that was guessed' }
    return bindingRequest({ transactionId: Buffer.alloc(12, 1), ...credentials, useCandidate: true })
  }
  const kinds = [
    check(username),
    check('nobody:peer'),
    Buffer.alloc(1200, 0x16),
    Buffer.alloc(1200, 0x80),
    Buffer.alloc(0),
  ]
  for (let at = 0; at < 20_000; at++) {
    flood.send(kinds[at % kinds.length] ?? '', udpPort, '127.0.0.1')
    // As fast as possible without exhausting the memory of this process.
    if (at % 200 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  await expectUndisturbed()
  expect(answers).toBe(0)
  flood.close()
})

test('packets with a payload type or SSRC that was not negotiated reach no viewer', async () => {
  const [transport] = publisher.pc.dtlsTransports
  const payload = Buffer.alloc(1100, 7)
  let at = 0
  const send = async (): Promise<void> => {
    for (const [payloadType, ssrc] of [
      [0, 77],
      [111, 1],
      [127, at],
      [96, 0xffff_ffff],
    ] as const) {
      const header = { sequenceNumber: at, timestamp: at, payloadType, ssrc, marker: at % 2 === 0 }
      await transport?.sendRtp(payload, new RtpHeader(header))
    }
    at += 1
  }
  // Until many have arrived, as genuine as the others: a buffer of the network may overflow.
  while (!sluice.app.ctx.sessions.all().some(({ bytes }) => bytes.bytesIn > 1_000_000)) {
    for (let times = 0; times < 5; times++) await send()
    await pace(5)
  }
  await expectUndisturbed()
  expect(viewer.packets.some((packet) => packet.payload.equals(payload))).toBe(false)
})

test('a client that sends a request byte by byte is cut off, and others get answers meanwhile', async () => {
  const head = `POST /api/whip/show HTTP/1.1\r\nHost: a\r\nContent-Type: application/sdp\r\nContent-Length: 60000\r\n\r\n`
  const { port } = new URL(sluice.base)
  const sockets: Socket[] = Array.from({ length: 100 }, () => connect(Number(port), '127.0.0.1'))
  const closed = sockets.map(
    (socket) => new Promise((resolve) => socket.on('error', () => undefined).once('close', resolve)),
  )
  const trickle = async (): Promise<void> => {
    for (let sent = 0; sockets.some(({ writable }) => writable); sent++) {
      for (const [at, socket] of sockets.entries())
        if (socket.writable) socket.write((at % 2 ? head : head + head)[sent] ?? 'v')
      // After the writes, so that they leave time for other requests, however slow this machine is.
      await pace(20)
    }
  }
  const trickling = trickle()
  expect((await offer('whip/show', 'v=0\r\n')).status).toBe(400)
  await Promise.all([trickling, ...closed])
  await expectUndisturbed()
})
