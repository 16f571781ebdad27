import { createSocket } from 'node:dgram'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { createLogger, type Logger } from '../../src/base/log.ts'
import { SrtConnection } from '../../src/media/srt/connection.ts'
import { DATAGRAM_MAX_BYTES } from '../../src/media/srt/handshake.ts'
import { CONTROL, writeControl } from '../../src/media/srt/packets.ts'
import { type CallOptions, handshakeBody, randomKeys, SrtCaller, srtRequest, textWords } from '../media/srt/caller.ts'
import { type Listening, listenForSrt } from '../media/srt/publications.ts'
import { passes, TICK_MS } from '../media/srt/scriptedListener.ts'
import { adts, BOTH, deltaFrame, keyframe, NULL_PACKET, TsMuxer } from '../media/mpegts/muxer.ts'
import { until } from '../support/until.ts'

const PASSPHRASE = 'a-passphrase-of-10-to-79'
const ends: (() => unknown)[] = []

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function listening(terms: Parameters<typeof listenForSrt>[0] = {}): Promise<Listening> {
  const listener = await listenForSrt(terms)
  ends.push(() => listener.stop())
  return listener
}

async function call({ port }: Listening, options: CallOptions = {}): Promise<SrtCaller> {
  const caller = await SrtCaller.call(port, options)
  ends.push(() => caller.close())
  return caller
}

/** A log, and its lines. */
function logged(): { lines: string[]; log: Logger } {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  return { lines, log: createLogger({ level: 'info', format: 'json', destination }) }
}

/** Audio, 20 ms a packet: one datagram each, the first with the tables. */
function audio(count: number): Buffer[] {
  const ts = new TsMuxer()
  return Array.from({ length: count }, (_, at) => {
    const tables = at === 0 ? ts.tables(BOTH.slice(1)) : Buffer.alloc(0)
    return Buffer.concat([tables, ts.audio(adts(50, at & 255), at * 1800)])
  })
}

/** Which packets of audio came, by what they are filled with. */
const received = ({ publications }: Listening): (number | undefined)[] =>
  (publications[0]?.frames ?? []).map(({ data }) => data[0])

const all = (count: number): number[] => Array.from({ length: count }, (_, at) => at & 255)

describe('an SRT publisher', () => {
  test('is decided on by its stream id and address, then its media comes, and its goodbye ends it', async () => {
    const listener = await listening()
    const caller = await call(listener, { streamId: 'show?t=token' })
    caller.send(...audio(5))
    await until(() => received(listener).length === 5)
    await until(() => caller.acknowledged === caller.sequence)
    const [publication] = listener.publications
    expect(publication?.request).toMatchObject({ streamId: 'show?t=token', peer: '127.0.0.1', unlock: null })
    expect(publication?.trackLists).toMatchObject([[{ codec: 'aac', sampleRate: 48_000 }]])
    caller.shutDown()
    await until(() => publication?.reasons.length === 1)
    expect([publication?.reasons, publication?.ends, received(listener)]).toEqual([['left'], 1, all(5)])
    // All that came, with headers and control packets.
    expect(publication?.bytesIn).toBeGreaterThan(5 * (188 + 16))
    await until(() => listener.connections() === 0)
  })

  test.each([16, 24, 32] as const)('encrypts with a key of %d bytes and changes it meanwhile', async (keyBytes) => {
    const listener = await listening({ passphrase: PASSPHRASE })
    const caller = await call(listener, { passphrase: PASSPHRASE, keyBytes })
    const datagrams = audio(6)
    caller.send(...datagrams.slice(0, 3))
    caller.announceKeys()
    await until(() => caller.keyConfirmations > 0)
    caller.changeKey()
    caller.send(...datagrams.slice(3))
    await until(() => received(listener).length === 6)
    expect(received(listener)).toEqual(all(6))
  })

  test('with another passphrase is refused by the code of a bad secret', async () => {
    const caller = await call(await listening({ passphrase: PASSPHRASE }), { passphrase: 'another-passphrase' })
    expect(caller.answer).toBe(1010)
  })

  test('with keys that the decision has not opened is refused', async () => {
    const listener = await listening({ opensNothing: true })
    expect((await call(listener, { passphrase: PASSPHRASE })).answer).toBe(1010)
    expect((await call(listener)).answer).toBe(0)
  })

  test('that encrypts cannot send packets in the clear', async () => {
    const listener = await listening({ passphrase: PASSPHRASE })
    const caller = await call(listener, { passphrase: PASSPHRASE })
    const datagrams = audio(6)
    caller.send(...datagrams.slice(0, 3))
    caller.sendsClear = true
    caller.send(...datagrams.slice(3, 4))
    caller.sendsClear = false
    caller.send(...datagrams.slice(4))
    await until(() => received(listener).length === 5)
    expect(received(listener)).toEqual([0, 1, 2, 4, 5])
  })

  test('cannot change the keys to those of another passphrase', async () => {
    const listener = await listening({ passphrase: PASSPHRASE })
    const caller = await call(listener, { passphrase: PASSPHRASE })
    caller.announceKeys('another-passphrase', randomKeys(16))
    caller.send(...audio(3))
    await until(() => received(listener).length === 3)
    expect(caller.keyConfirmations).toBe(0)
  })

  test('gets a latency of its own, up to the limit', async () => {
    const listener = await listening({ limits: { maxLatencyMs: 1000 } })
    expect((await call(listener, { latencyMs: 60 })).latencyMs).toBe(120)
    expect((await call(listener, { latencyMs: 400 })).latencyMs).toBe(400)
    expect((await call(listener, { latencyMs: 5000 })).latencyMs).toBe(1000)
  })

  test('loses nothing where packets and their repetitions are lost on the way, over the wrap of its numbers', async () => {
    const listener = await listening({ limits: { latencyMs: 8000 } })
    const lost = (sequence: number, attempt: number) => attempt < 2 && sequence % 5 === 0
    const caller = await call(listener, { sequence: 0x7fff_ffe0, loses: lost })
    caller.send(...audio(100))
    caller.send(Buffer.alloc(188, 0xff))
    await until(() => received(listener).length === 100)
    expect(received(listener)).toEqual(all(100))
    expect(caller.losses).toBeGreaterThan(1)
  })

  test('goes on where packets never come, and the log says so once', async () => {
    const { lines, log } = logged()
    const listener = await listening({ log })
    const caller = await call(listener, { loses: (sequence) => sequence === 1003 || sequence === 1005 })
    caller.send(...audio(8))
    await until(() => received(listener).length === 6)
    expect(received(listener)).toEqual([0, 1, 2, 4, 6, 7])
    expect(lines).toEqual([expect.stringContaining('Packets were lost and did not come again within the latency')])
  })

  test('need not be waited for where it gives packets up', async () => {
    const listener = await listening({ limits: { latencyMs: 8000 } })
    const caller = await call(listener, { loses: (sequence) => sequence === 1003 || sequence === 1004 })
    caller.send(...audio(8))
    await until(() => caller.losses > 0)
    caller.giveUp(1003, 1004)
    await until(() => received(listener).length === 6)
    expect(received(listener)).toEqual([0, 1, 2, 5, 6, 7])
  })

  test('leaves with its last picture, which no other one follows', async () => {
    const listener = await listening()
    const caller = await call(listener)
    const ts = new TsMuxer()
    caller.send(ts.tables(BOTH.slice(0, 1)), ts.video(keyframe(), 0), ts.video(deltaFrame(), 3600))
    caller.shutDown()
    await until(() => listener.publications[0]?.reasons.length === 1)
    expect(listener.publications[0]?.frames.map(({ key }) => key)).toEqual([true, false])
  })

  test('leaves with all that came, also what waits for a lost packet', async () => {
    const listener = await listening({ limits: { latencyMs: 8000 } })
    const caller = await call(listener, { loses: (sequence) => sequence === 1003 })
    caller.send(...audio(8))
    await until(() => caller.losses > 0)
    caller.shutDown()
    await until(() => listener.publications[0]?.reasons.length === 1)
    expect(received(listener)).toEqual([0, 1, 2, 4, 5, 6, 7])
  })

  test('is told to go when it is cut, and its end has that reason', async () => {
    const listener = await listening()
    const caller = await call(listener)
    caller.send(...audio(3))
    await until(() => received(listener).length === 3)
    const [publication] = listener.publications
    await publication?.request.cut('The token was deleted')
    await until(() => caller.hasEnded)
    expect(publication?.reasons).toEqual(['cut'])
    caller.send(...audio(3))
    await until(() => listener.connections() === 0)
    expect([publication?.ends, received(listener).length]).toEqual([1, 3])
  })

  test('is ended when its media cannot be taken', async () => {
    const listener = await listening()
    const caller = await call(listener)
    caller.send(new TsMuxer().tables([{ type: 0x33, pid: 0x100 }]))
    await until(() => caller.hasEnded)
    expect(listener.publications[0]?.reasons).toEqual(['invalid'])
  })

  test('that says nothing any more has its last picture passed on, which no other one follows', async () => {
    const clock = new ManualClock(0)
    const { lines, log } = logged()
    const listener = await listening({ clock, log })
    const caller = await SrtCaller.call(listener.port)
    const ts = new TsMuxer()
    caller.send(ts.tables(BOTH.slice(0, 1)), ts.video(keyframe(50), 0), ts.video(deltaFrame(50), 3600))
    await until(() => listener.publications[0]?.frames.length === 1)
    caller.close()
    await passes(clock, 6000, TICK_MS)
    const [publication] = listener.publications
    expect([publication?.reasons, publication?.frames.map(({ key }) => key)]).toEqual([['lost'], [true, false]])
    expect(lines.filter((line) => line.includes('The other side no longer answers'))).toHaveLength(1)
  })

  test('without media is ended after the limit, while tables and stuffing come', async () => {
    const listener = await listening({ limits: { idleMs: 500 } })
    const caller = await call(listener)
    const ts = new TsMuxer()
    await until(() => {
      caller.send(ts.tables([{ type: 0x1b, pid: 0x100 }]), NULL_PACKET)
      return caller.hasEnded
    })
    expect(listener.publications[0]?.reasons).toEqual(['lost'])
  })

  test('without media is ended after the limit, while keep-alives come', async () => {
    const listener = await listening({ limits: { idleMs: 50 } })
    const caller = await call(listener)
    await until(() => caller.hasEnded)
    expect(listener.publications[0]?.reasons).toEqual(['lost'])
    expect(listener.publications[0]?.why).toMatchObject({ message: 'No audio or video came for too long' })
  })

  test('of whose media nothing can be taken is ended after the limit, with the reason', async () => {
    const { lines, log } = logged()
    const listener = await listening({ log, passphrase: PASSPHRASE, limits: { idleMs: 50 } })
    const caller = await call(listener, { passphrase: PASSPHRASE })
    caller.sendsClear = true
    caller.send(...audio(3))
    await until(() => caller.hasEnded)
    const why = 'No audio or video came for too long: Packets are not encrypted with the keys of the connection'
    expect(listener.publications[0]?.why?.message).toBe(why)
    expect(lines.filter((line) => line.includes(why))).toHaveLength(1)
  })
})

describe('a caller', () => {
  test('is refused with the code of the decision, for as long as it asks', async () => {
    const listener = await listening({ refuse: () => ({ ok: false, status: 'Unauthorized', reason: 'unauthorized' }) })
    const caller = await call(listener, { streamId: 'show' })
    expect(caller.answer).toBe(1401)
    caller.answer = null
    caller.induct()
    await until(() => caller.answer === 1401)
    expect(listener.publications).toEqual([])
  })

  test('has no state before its address is proved, and no answer is longer than its question', async () => {
    const listener = await listening()
    const socket = createSocket('udp4')
    ends.push(() => socket.close())
    let answers = 0
    let longest = 0
    socket.on('message', (answer) => {
      answers += 1
      longest = Math.max(longest, answer.length)
    })
    const send = (body: Buffer) => {
      const datagram = writeControl({ type: CONTROL.handshake, socketId: 0, timeUs: 0, body })
      socket.send(datagram, listener.port, '127.0.0.1')
      return datagram.length
    }
    let shortest = Number.POSITIVE_INFINITY
    for (let sent = 0; sent < 10_000; sent += 100) {
      for (let one = 0; one < 100; one++) {
        const body = handshakeBody({ version: 4, type: 1, extensionField: 2 }, sent + one)
        body.writeUInt32BE(sent + one + 1, 24)
        shortest = Math.min(shortest, send(body))
      }
      send(handshakeBody({ version: 5, type: 0xffff_ffff, cookie: sent, extensionField: 7 }, sent, srtRequest()))
      await until(() => answers === sent + 100)
      expect(listener.connections()).toBe(0)
    }
    expect(longest).toBeLessThanOrEqual(shortest)
    expect(listener.publications).toEqual([])
    expect((await call(listener)).answer).toBe(0)
  })

  test('is decided on once, however often it repeats its handshake', async () => {
    const decided = Promise.withResolvers<void>()
    const listener = await listening({ until: decided.promise })
    const calling = call(listener)
    await until(() => listener.connections() === 1)
    decided.resolve()
    const caller = await calling
    caller.answer = null
    caller.induct()
    await until(() => caller.answer === 0)
    expect([listener.publications.length, listener.connections()]).toEqual([1, 1])
  })

  test('that is admitted after the listener has stopped is reported as ended', async () => {
    const decided = Promise.withResolvers<void>()
    const listener = await listening({ until: decided.promise })
    const caller = await SrtCaller.open(listener.port)
    ends.push(() => caller.close())
    await until(() => listener.connections() === 1)
    const stopped = listener.stop()
    decided.resolve()
    await stopped
    expect(listener.publications[0]?.reasons).toEqual(['stopped'])
  })

  test('has no state before its cookie is right', async () => {
    const listener = await listening()
    const caller = await call(listener)
    const stranger = createSocket('udp4')
    ends.push(() => stranger.close())
    for (let at = 0; at < 1000; at++) {
      const type = at % 2 === 0 ? 1 : 0xffff_ffff
      const body = handshakeBody({ version: 5, type, cookie: at, extensionField: 7 }, at, srtRequest())
      const datagram = writeControl({ type: 0, socketId: 0, timeUs: 0, body })
      await new Promise((sent) => stranger.send(datagram, listener.port, '127.0.0.1', sent))
    }
    caller.send(...audio(3))
    await until(() => received(listener).length === 3)
    expect([listener.connections(), listener.publications.length]).toEqual([1, 1])
  })

  test('is not disturbed by what others send in its name', async () => {
    const listener = await listening()
    const caller = await call(listener)
    const other = await SrtCaller.open(listener.port)
    ends.push(() => other.close())
    other.raw(writeControl({ type: 5, socketId: caller.listenerId, timeUs: 0, body: Buffer.alloc(4) }))
    // Its handshake comes after that.
    await until(() => other.answer === 0)
    caller.send(...audio(3))
    await until(() => received(listener).length === 3)
    expect([caller.hasEnded, listener.connections()]).toEqual([false, 2])
  })

  test('that has another mode than Sluice is refused, and the log says which', async () => {
    const { lines, log } = logged()
    const listener = await listening({ log })
    const refusedFor = async (options: CallOptions): Promise<[number | null, string]> => {
      const { answer } = await call(listener, options)
      return [answer, (JSON.parse(lines.at(-1) ?? '{}') as { description: string }).description]
    }
    expect(await refusedFor({ version: 0x1_02_00 })).toEqual([1008, expect.stringContaining('too old')])
    expect(await refusedFor({ isVersion4: true })).toEqual([1008, expect.stringContaining('too old')])
    expect(await refusedFor({ extensions: [[7, textWords('fec,cols:10')]] })).toEqual([
      1014,
      'Packet filters such as FEC are not supported',
    ])
    expect(await refusedFor({ extensions: [[8, Buffer.alloc(8)]] })).toEqual([
      1015,
      'Bonding of several connections is not supported',
    ])
    expect(await refusedFor({ isRendezvous: true })).toEqual([1004, expect.stringContaining('Rendezvous')])
    expect([listener.connections(), lines.length]).toEqual([0, 5])
  })

  test('waits for its turn where others of its address are not decided on yet', async () => {
    const decided = Promise.withResolvers<void>()
    const listener = await listening({ limits: { maxConnectingPerAddress: 1 }, until: decided.promise })
    const first = await SrtCaller.open(listener.port)
    ends.push(() => first.close())
    await until(() => listener.connections() === 1)
    expect((await call(listener)).answer).toBe(1402)
    decided.resolve()
    await until(() => first.answer === 0)
    expect((await call(listener)).answer).toBe(0)
  })

  test('cannot send datagrams that are larger than the largest that it may', async () => {
    const listener = await listening()
    const caller = await call(listener)
    // The head of a packet has 16 bytes.
    const datagrams = audio(6).map((body, at) =>
      at === 3 ? Buffer.concat([body, Buffer.alloc(DATAGRAM_MAX_BYTES - 16 - body.length + 1, 0xff)]) : body,
    )
    caller.send(...datagrams)
    await until(() => received(listener).length === 5)
    expect(received(listener)).toEqual([0, 1, 2, 4, 5])
  })

  test('finds room where others were refused, and not where they publish', async () => {
    let refuses = true
    const refusal = { ok: false, status: 'Unauthorized', reason: 'unauthorized' } as const
    const listener = await listening({ limits: { maxConnections: 1 }, refuse: () => (refuses ? refusal : null) })
    expect((await call(listener)).answer).toBe(1401)
    refuses = false
    expect((await call(listener)).answer).toBe(0)
    const looks = vi.spyOn(SrtConnection.prototype, 'isRefused', 'get')
    ends.push(() => looks.mockRestore())
    expect((await call(listener)).answer).toBe(1402)
    // Each packet of a stranger would look at all that publish.
    expect(looks).not.toHaveBeenCalled()
  })
})
