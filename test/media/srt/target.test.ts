import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ManualClock, systemClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import type { Frame, TrackInfo } from '../../../src/media/frame.ts'
import type { SenderEnd } from '../../../src/media/publishing.ts'
import { type RunAddon, runAddon } from '../../../src/media/srt/datagramRuns.ts'
import { answerAdmitted, answerRefused, readExtensions, readHandshake } from '../../../src/media/srt/handshake.ts'
import { SendingKeys, StreamKeys } from '../../../src/media/srt/keys.ts'
import { CONTROL, writeLosses } from '../../../src/media/srt/packets.ts'
import { SrtTarget, type SrtTargetOptions } from '../../../src/media/srt/target.ts'
import { lossyLink } from '../../support/lossyUdp.ts'
import { silentLog } from '../../support/log.ts'
import { until } from '../../support/until.ts'
import { AAC_CONFIG, AVC_CONFIG } from '../rtmp/media.ts'
import { type Listening, listenForSrt } from './publications.ts'
import { agree, LOOK_MS, passes, request, ScriptedListener } from './scriptedListener.ts'

const PASSPHRASE = 'correct-horse_battery'
const VIDEO: TrackInfo = { kind: 'video', codec: 'h264', width: 320, height: 240, config: AVC_CONFIG }
const AUDIO: TrackInfo = { kind: 'audio', codec: 'aac', sampleRate: 44_100, channels: 2, config: AAC_CONFIG }

/** A zero at the end would belong to the byte stream. */
const markOf = (index: number): number => 1 + (index % 250)

/** One slice with the number of the picture. */
function videoAt(index: number, bytes = 3000): Frame {
  const key = index % 25 === 0
  const data = Buffer.alloc(4 + bytes, markOf(index))
  data.writeUInt32BE(bytes)
  data.set(key ? [0x65, 0x88] : [0x41, 0x9a], 4)
  const timeUs = index * 40_000
  return { kind: 'video', timeUs, decodeTimeUs: timeUs, key, data }
}

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function listening(terms: Parameters<typeof listenForSrt>[0] = {}): Promise<Listening> {
  const listener = await listenForSrt(terms)
  closing.push(() => listener.stop())
  return listener
}

async function socketTo(port: number): Promise<Socket> {
  const socket = createSocket('udp4')
  socket.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

interface Sending {
  readonly target: SrtTarget
  readonly ends: SenderEnd[]
  readonly isReady: () => boolean
  readonly accepted: () => number
}

async function send(port: number, more: Partial<SrtTargetOptions> = {}): Promise<Sending> {
  const ends: SenderEnd[] = []
  let [isReady, accepted] = [false, 0]
  const target = new SrtTarget({
    socket: await socketTo(port),
    runs: await runAddon(),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    streamId: 'show?t=token',
    passphrase: null,
    keyBytes: 16,
    latencyMs: 120,
    ready: () => (isReady = true),
    accepted: () => (accepted += 1),
    ended: (how) => ends.push(how),
    ...more,
  })
  closing.push(() => target.end())
  return { target, ends, isReady: () => isReady, accepted: () => accepted }
}

/** Sends so many frames of video, of which no more wait than a network takes at once. */
async function sendVideo({ target }: Sending, from: number, count: number, bytes?: number): Promise<void> {
  for (let index = from; index < from + count; index++) {
    await until(() => target.waitingBytes < 60_000)
    target.frame(videoAt(index, bytes))
  }
}

/** The marks of the video that came. */
const arrived = ({ publications }: Listening): (number | undefined)[] =>
  (publications[0]?.frames ?? []).filter(({ kind }) => kind === 'video').map(({ data }) => data.at(-1))

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => markOf(index))

describe('a target', () => {
  test('gets the tracks and each frame of a feed, is live with the first tracks, and hears the goodbye', async () => {
    const listener = await listening()
    const sending = await send(listener.port)
    await until(sending.isReady)
    expect(sending.accepted()).toBe(0)
    sending.target.tracks([VIDEO, AUDIO])
    expect(sending.accepted()).toBe(1)
    sending.target.frame(videoAt(0))
    sending.target.frame({ kind: 'audio', timeUs: 10_000, decodeTimeUs: 10_000, key: true, data: Buffer.alloc(90, 7) })
    sending.target.frame(videoAt(1))
    await until(() => (listener.publications[0]?.frames.length ?? 0) === 3)
    const [publication] = listener.publications
    expect(publication?.request).toMatchObject({ streamId: 'show?t=token', peer: '127.0.0.1' })
    expect(publication?.trackLists.at(-1)).toMatchObject([{ codec: 'h264', width: 320 }, { codec: 'aac' }])
    expect(publication?.frames.map(({ kind, key, data }) => [kind, key, data.at(-1)])).toEqual([
      ['video', true, 1],
      ['audio', true, 7],
      ['video', false, 2],
    ])
    expect(sending.target.bytes.bytesOut).toBeGreaterThan(6000)
    sending.target.end()
    await until(() => publication?.reason === 'left')
    expect(sending.ends).toEqual([])
  })

  test('gets audio with the frame after it, in one datagram, and what waits before other tracks and the goodbye', async () => {
    const listener = await listening()
    const runs: number[] = []
    const addon = await runAddon()
    const sendRun: RunAddon['sendRun'] = (fd, run, bytes) => {
      if (run.length > 100) runs.push(run.length)
      return addon?.sendRun(fd, run, bytes) ?? 0
    }
    const sending = await send(listener.port, { runs: { sendRun } })
    await until(sending.isReady)
    const audioAt = (number: number): Frame => {
      const timeUs = number * 20_000
      return { kind: 'audio', timeUs, decodeTimeUs: timeUs, key: true, data: Buffer.alloc(90, number) }
    }
    sending.target.tracks([VIDEO, AUDIO])
    sending.target.frame(videoAt(0, 500))
    const begun = runs.length
    for (const number of [1, 2, 3]) sending.target.frame(audioAt(number))
    sending.target.frame(videoAt(1, 500))
    expect(runs.length - begun).toBe(2)
    sending.target.frame(audioAt(4))
    expect(runs.length - begun).toBe(2)
    sending.target.tracks([VIDEO, AUDIO])
    expect(runs.length - begun).toBe(3)
    sending.target.frame(audioAt(5))
    sending.target.end()
    expect(runs.length - begun).toBe(4)
    const [publication] = listener.publications
    await until(() => publication?.reason === 'left')
    const heard = publication?.frames.filter(({ kind }) => kind === 'audio').map(({ data }) => data.at(-1))
    expect(heard).toEqual([1, 2, 3, 4, 5])
  })

  test.each([16, 24, 32] as const)(
    'gets media encrypted with keys of %i bytes, which change meanwhile',
    async (keyBytes) => {
      const listener = await listening({ passphrase: PASSPHRASE })
      const changes = vi.spyOn(SendingKeys.prototype, 'useNext')
      closing.push(() => changes.mockRestore())
      const sending = await send(listener.port, { passphrase: PASSPHRASE, keyBytes, packetsOfKey: 60 })
      await until(sending.isReady)
      sending.target.tracks([VIDEO])
      await sendVideo(sending, 0, 150)
      await until(() => arrived(listener).length === 150)
      expect(arrived(listener)).toEqual(numbers(150))
      expect(listener.publications[0]?.request.unlock).not.toBeNull()
      expect(changes).toHaveBeenCalled()
    },
  )

  test('gets each frame over a link that loses a tenth each way, and no more retransmissions than half of the media', async () => {
    const listener = await listening()
    const link = await lossyLink(listener.port, 7)
    closing.push(() => link.close())
    const sending = await send(link.port, { latencyMs: 4000 })
    await until(sending.isReady)
    sending.target.tracks([VIDEO])
    link.lose(0.1)
    await sendVideo(sending, 0, 400)
    await until(() => arrived(listener).length === 400)
    expect(arrived(listener)).toEqual(numbers(400))
    expect(sending.target.resent).toBeGreaterThan(50)
    expect(sending.target.resent).toBeLessThan((400 * 3) / 2)
    expect(sending.target.dropped).toBe(0)
  })

  test('gets the last frame too where its datagram is lost and none comes after it', async () => {
    const scripted = await answering(agree)
    const sending = await send(scripted.port)
    await until(sending.isReady)
    sending.target.tracks([VIDEO])
    for (let index = 0; index < 5; index++) sending.target.frame(videoAt(index, 500))
    await until(() => scripted.sequences.length > 5)
    expect(scripted.sequences[5]).toBe(scripted.sequences[4])
  })

  test('gets media with the keys that it was told, also if it answers each of our first questions, late and at once', async () => {
    let keyMessage: Buffer | null = null
    const scripted = await answering((sequence, body) => {
      const handshake = readHandshake(body)
      const asked = handshake?.kind === 'conclusion' ? readExtensions(handshake.extensions) : null
      keyMessage = (asked?.ok === true && asked.value.keyMessage) || null
      return answerAdmitted({
        sequence,
        socketId: 55,
        latencyMs: 120,
        request: { ...request, keyMessage },
        keyBits: 128,
      })
    })
    scripted.answersOfInduction = 3
    const sending = await send(scripted.port, { passphrase: PASSPHRASE })
    await until(sending.isReady)
    sending.target.tracks([VIDEO])
    sending.target.frame(videoAt(0, 500))
    const { key, sequence, body } = await until(() => scripted.data[0])
    const keys = await StreamKeys.open(keyMessage ?? Buffer.alloc(0), PASSPHRASE)
    expect(keys?.decrypt(body, key, sequence)).toBe(true)
    // Where a packet of MPEG-TS begins.
    expect(body[0]).toBe(0x47)
  })

  test('is named by its codec when MPEG-TS does not carry it', async () => {
    const sending = await send((await listening()).port)
    await until(sending.isReady)
    sending.target.tracks([{ ...VIDEO, codec: 'vp8' }])
    expect(sending.ends).toMatchObject([{ kind: 'unsuitable', message: expect.stringContaining('The video is VP8') }])
  })
})

describe('a target that refuses', () => {
  test.each([
    ['unauthorized', 'refused', /key in the stream id \(SRT code 1401\)/],
    ['forbidden', 'refused', /does not allow this stream \(SRT code 1403\)/],
    ['address', 'refused', /does not understand the stream id \(SRT code 1400\)/],
    ['mode', 'refused', /\(SRT code 1405\)/],
    ['unencrypted', 'refused', /check the passphrase \(SRT code 1011\)/],
    ['limit', 'lost', /too much to do \(SRT code 1402\)/],
    ['unavailable', 'lost', /no room .* \(SRT code 1003\)/],
  ] as const)('as %s is %s, with the reason and its code', async (reason, kind, message) => {
    const { port } = await listening({ refuse: () => ({ ok: false, status: 'No', reason }) })
    const sending = await send(port)
    await until(() => sending.ends.length > 0)
    expect(sending.ends).toMatchObject([
      {
        kind,
        message: expect.stringMatching(message),
        sentences: [{ code: expect.stringMatching(/^srt_/) }],
        ...(kind === 'refused' ? { isInUse: false } : {}),
      },
    ])
    expect(sending.isReady()).toBe(false)
  })

  test('because of the passphrase gets no media, and the message does not show it', async () => {
    const { port } = await listening({ passphrase: 'another-passphrase' })
    const sending = await send(port, { passphrase: PASSPHRASE })
    await until(() => sending.ends.length > 0)
    expect(sending.ends).toMatchObject([{ kind: 'refused', message: expect.stringContaining('passphrase') }])
    expect(JSON.stringify(sending.ends)).not.toContain(PASSPHRASE)
  })

  test('by a fault of ours with the first datagram is reported as lost', async () => {
    const socket = await socketTo(1)
    vi.spyOn(socket, 'getSendQueueSize').mockThrow(new Error('broken'))
    const sending = await send(1, { socket, log: { ...silentLog, error: () => undefined } })
    await until(() => sending.ends.length > 0)
    expect(sending.ends).toMatchObject([{ kind: 'lost', sentences: [{ code: 'source_failed_here' }] }])
  })

  test('by a closed port is lost at once', async () => {
    const listener = await listenForSrt()
    await listener.stop()
    const sending = await send(listener.port)
    await until(() => sending.ends.length > 0)
    expect(sending.ends).toMatchObject([{ kind: 'lost', message: 'The host refuses connections on this port' }])
  })
})

async function answering(conclude: ScriptedListener['conclude']): Promise<ScriptedListener> {
  const listener = await ScriptedListener.open(conclude)
  closing.push(() => listener.close())
  return listener
}

/** A target whose listener has agreed, by a clock of its own. */
async function agreed() {
  const [clock, scripted] = [new ManualClock(), await answering(agree)]
  const sending = await send(scripted.port, { clock })
  for (; !sending.isReady(); clock.advance(10)) await setImmediate()
  return { clock, scripted, sending }
}

describe('a target that hangs', () => {
  test('after the first answer is given up in time', async () => {
    const clock = new ManualClock()
    const scripted = await answering(null)
    const sending = await send(scripted.port, { clock })
    await until(() => scripted.callerId > 0)
    await passes(clock, 6000)
    expect(sending.ends).toMatchObject([{ kind: 'lost', message: 'The other side did not answer in time' }])
  })

  test('gets two seconds of media, then nothing until it answers, and then the next keyframe', async () => {
    const { clock, scripted, sending } = await agreed()
    const { target } = sending
    target.tracks([VIDEO])
    for (let index = 0; index < 90; index++) {
      target.frame(videoAt(index, 500))
      clock.advance(40)
      await setImmediate()
    }
    // 50 intervals of 40 ms are the two seconds.
    expect(target.dropped).toBe(90 - 51)
    expect(target.waitingBytes).toBeLessThan(100_000)
    // Each picture fits into a datagram.
    await until(() => new Set(scripted.sequences).size === 51)
    const ack = Buffer.alloc(28)
    ack.writeUInt32BE((scripted.sequences[0] ?? 0) + 51)
    scripted.control(CONTROL.ack, ack, 1)
    await until(() => target.waitingBytes === 0)
    for (let index = 90; index < 110; index++) target.frame(videoAt(index, 500))
    // The keyframe is that with the number 100.
    expect(target.dropped).toBe(90 - 51 + 10)
    // After a pause of the process, what came meanwhile is read after the next frame of the feed.
    clock.advance(60_000)
    target.frame(videoAt(110, 500))
    expect(target.dropped).toBe(90 - 51 + 10)
    expect(sending.ends).toEqual([])
    await passes(clock, 6000)
    expect(sending.ends).toMatchObject([{ kind: 'lost', message: 'The other side no longer answers' }])
  })

  test('is lost with its reason if it goes on to answer, and acknowledges nothing for ten seconds', async () => {
    const { clock, scripted, sending } = await agreed()
    const { target, ends } = sending
    target.tracks([VIDEO])
    target.frame(videoAt(0, 500))
    for (let heard = 0; ends.length === 0; heard = target.bytes.bytesIn, clock.advance(LOOK_MS)) {
      scripted.control(CONTROL.keepAlive, Buffer.alloc(4))
      await until(() => target.bytes.bytesIn > heard || ends.length > 0)
    }
    expect(ends).toMatchObject([{ kind: 'lost', message: 'The target does not read what it is sent' }])
  })

  test('never holds more than 10 MB, however large the frames are', async () => {
    const scripted = await answering(agree)
    const sending = await send(scripted.port)
    await until(sending.isReady)
    sending.target.tracks([VIDEO])
    for (let index = 0; index < 50; index++) sending.target.frame(videoAt(index, 1_000_000))
    expect(sending.target.waitingBytes).toBeLessThan(10_000_000)
    expect(sending.target.dropped).toBeGreaterThan(30)
  })
})

describe('a hostile target', () => {
  test('cannot have more sent again than half of the media, nor hold up the sender with its reports', async () => {
    const scripted = await answering(agree)
    const sending = await send(scripted.port)
    await until(sending.isReady)
    sending.target.tracks([VIDEO])
    for (let index = 0; index < 20; index++) sending.target.frame(videoAt(index))
    const media = await until(() => scripted.sequences.length >= 60 && scripted.sequences.length)
    const first = scripted.sequences[0] ?? 0
    const all = writeLosses(Array.from({ length: 180 }, () => [first, (first + 0x3fff_ffff) & 0x7fff_ffff] as const))
    const [before] = [sending.target.resent]
    for (let at = 0; at < 20; at++) scripted.control(CONTROL.nak, all)
    scripted.control(CONTROL.nak, Buffer.from([0x80, 0, 0, 0]))
    scripted.control(CONTROL.ack, Buffer.from([1, 2]))
    scripted.control(CONTROL.ack, Buffer.alloc(28, 0x7f), 3)
    await until(() => sending.target.resent > before)
    // An acknowledgement of what was never sent is none.
    expect(sending.target.waitingBytes).toBeGreaterThan(0)
    sending.target.frame(videoAt(20))
    await until(() => scripted.sequences.length > media)
    expect(sending.target.resent).toBeLessThanOrEqual(media / 2 + 2)
  })

  test('that agrees without its keys gets no media', async () => {
    const scripted = await answering(agree)
    const sending = await send(scripted.port, { passphrase: PASSPHRASE })
    await until(() => sending.ends.length > 0)
    expect(sending.ends).toMatchObject([{ kind: 'refused' }])
    expect(scripted.sequences).toEqual([])
  })

  test('that refuses with an unknown code is lost, with the code', async () => {
    const scripted = await answering((sequence) => answerRefused({ sequence }, 1777 as 1003))
    const sending = await send(scripted.port)
    await until(() => sending.ends.length > 0)
    expect(sending.ends).toMatchObject([
      { kind: 'lost', message: 'The other side refuses the connection (SRT code 1777)' },
    ])
  })
})
