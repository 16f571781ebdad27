import { createCipheriv } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { systemRandom } from '../../src/base/random.ts'
import { layoutIn } from '../../src/media/codecs/aac.ts'
import type { Frame } from '../../src/media/frame.ts'
import { TsIngest } from '../../src/media/mpegts/ingest.ts'
import { readStreamId } from '../../src/edge/srt/streamId.ts'
import { maskedUrl, readTargetUrl } from '../../src/core/restream/targets.ts'
import { answerAdmitted, FLOW_WINDOW, readExtensions, readHandshake } from '../../src/media/srt/handshake.ts'
import { counterOf, SendingKeys, StreamKeys } from '../../src/media/srt/keys.ts'
import { readAnswer } from '../../src/media/srt/callerHandshake.ts'
import { readAcknowledgement, readLosses, readPacket, writeLosses } from '../../src/media/srt/packets.ts'
import { SrtReceiver } from '../../src/media/srt/receiver.ts'
import { extension, handshakeBody, keyMessage, randomKeys, textWords } from '../media/srt/caller.ts'
import {
  AAC,
  adts,
  annexB,
  AUDIO_PID,
  BOTH,
  H264,
  HEVC,
  HEVC_IDR,
  HEVC_SETS,
  HEVC_TRAILING,
  keyframe,
  opusDescriptors,
  opusPacket,
  opusUnit,
  pes,
  deltaFrame,
  TsMuxer,
  VIDEO_PID,
} from '../media/mpegts/muxer.ts'
import { sequenceAfter } from '../../src/media/srt/sequences.ts'
import { cases } from '../support/randomCases.ts'

const RUNS = cases(2000)
const AUDIO_PIDS = [AUDIO_PID, 0x102, 0x103]
const bytes = (maxLength = 300) => fc.uint8Array({ maxLength, size: 'max' }).map((array) => Buffer.from(array))

/** Valid bytes with a few of them changed, and truncated somewhere. */
const damaged = (valid: Buffer) =>
  fc
    .tuple(
      fc.array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { maxLength: 12, size: 'max' }),
      fc.nat(valid.length),
    )
    .map(([changes, length]) => {
      const copy = Buffer.from(valid)
      for (const [at, byte] of changes) copy[at] = byte
      return copy.subarray(0, length)
    })

function transportStream(): Buffer {
  const ts = new TsMuxer()
  const parts = [ts.tables(BOTH), ts.video(keyframe(), 90_000, 86_400)]
  for (let at = 1; at < 6; at++) {
    parts.push(ts.video(deltaFrame(), 90_000 + at * 3600, 86_400 + at * 3600), ts.audio(adts(), 90_000 + at * 1920))
  }
  return Buffer.concat([...parts, ts.tables(BOTH.slice(1), 1), ts.audio(adts(), 110_000)])
}

/** Three audio tracks, of which one leaves the program. */
function severalAudioTracks(): Buffer {
  const ts = new TsMuxer()
  const streams = [{ type: H264, pid: VIDEO_PID }, ...AUDIO_PIDS.map((pid) => ({ type: AAC, pid }))]
  const parts = [ts.tables(streams), ts.video(keyframe(), 0)]
  for (let at = 1; at < 8; at++) {
    if (at === 4) parts.push(ts.tables(streams.slice(0, -1), 1))
    const audio = AUDIO_PIDS.map((pid) => ts.packets(pid, pes(adts(), { id: 0xc0, presentation: at * 1920 })))
    parts.push(ts.video(deltaFrame(), at * 3600), ...audio)
  }
  return Buffer.concat(parts)
}

function otherCodecs(): Buffer {
  const ts = new TsMuxer()
  const parts = [
    ts.tables([
      { type: HEVC, pid: VIDEO_PID },
      { type: 6, pid: AUDIO_PID, descriptors: opusDescriptors(2) },
    ]),
    ts.video(annexB(...HEVC_SETS, HEVC_IDR), 0),
  ]
  for (let at = 1; at < 4; at++) {
    const audio = Buffer.concat([opusUnit(opusPacket(80)), opusUnit(opusPacket(90))])
    parts.push(ts.video(annexB(HEVC_TRAILING), at * 3600), ts.audio(audio, at * 3600))
  }
  return Buffer.concat(parts)
}

/** So many that their reader knows how each one ends. */
function manyFrames(): Buffer {
  const ts = new TsMuxer()
  const video = Array.from({ length: 260 }, (_, at) => ts.video(at === 0 ? keyframe() : deltaFrame(at), at * 3600))
  return Buffer.concat([ts.tables(BOTH.slice(0, 1)), ...video])
}

const request = Buffer.concat([
  extension(1, Buffer.from([0, 1, 5, 0, 0, 0, 0, 0xbf, 0, 0, 0, 120])),
  extension(5, textWords('show?t=token')),
  extension(3, keyMessage('a-passphrase', randomKeys(16), 3)),
])
const conclusion = handshakeBody({ version: 5, type: 0xffff_ffff, cookie: 1 }, 1, request)

const STREAMS = [transportStream(), otherCodecs(), severalAudioTracks(), manyFrames()]

describe('any bytes', () => {
  test('of a transport stream give frames whose times never are negative, are left out, or are refused with a sentence', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(bytes(1400), ...STREAMS.map(damaged)), {
          maxLength: 6,
        }),
        fc.option(fc.shuffledSubarray([...AUDIO_PIDS, 0x1ff], { minLength: 1 }), { nil: undefined }),
        (parts, audioNumbers) => {
          const leftOut = (what: string) => expect(what).toMatch(/^[A-Z].*[^.]$/)
          const sink = {
            tracks: () => undefined,
            frame: ({ timeUs, decodeTimeUs, audioIndex = 0 }: Frame) => {
              expect(Math.min(timeUs, decodeTimeUs)).toBeGreaterThanOrEqual(0)
              expect(audioIndex).toBeLessThan(audioNumbers?.length ?? 1)
            },
            end: () => undefined,
          }
          let nowMs = 0
          const ingest = new TsIngest(sink, {
            clock: { monotonic: () => nowMs },
            maxFrameBytes: 2000,
            leftOut,
            audioNumbers,
          })
          for (const part of parts) {
            nowMs += 500
            const refusal = ingest.take(part)
            if (refusal !== null) expect(refusal.message).toMatch(/^[A-Z].*[^.]$/)
            if (part.length % 7 === 0) ingest.gap()
          }
          ingest.end()
        },
      ),
      RUNS,
    )
  })

  test('of a frame of AAC have a layout of channels that is no longer than its bits, or none', () => {
    const begun = bytes(80).map((rest) => Buffer.concat([Buffer.from([5 << 5]), rest]))
    fc.assert(
      fc.property(fc.oneof(bytes(), begun), (frame) => {
        expect(layoutIn(frame)?.length ?? 0).toBeLessThanOrEqual(Math.min(50, frame.length + 2))
      }),
      RUNS,
    )
  })

  test('of a datagram are a packet or none, and its handshake is read, refused or ignored', () => {
    fc.assert(
      fc.property(fc.oneof(bytes(), damaged(conclusion)), (datagram) => {
        readPacket(datagram)
        const handshake = readHandshake(datagram)
        if (handshake?.kind !== 'conclusion') return
        const read = readExtensions(handshake.extensions)
        if (read.ok) expect(Buffer.byteLength(read.value.streamId)).toBeLessThanOrEqual(3 * 512)
        else expect(read.error.text).toMatch(/^[A-Z].*[^.]$/)
      }),
      RUNS,
    )
  })

  test('of an answer to a caller are one or none, and its reports and acknowledgements are of known packets', () => {
    const request = {
      streamId: '',
      latencyMs: 120,
      flags: 0,
      keyMessage: keyMessage('a-passphrase', randomKeys(32), 1),
    }
    const admitted = answerAdmitted({ sequence: 1, socketId: 2, latencyMs: 120, request, keyBits: 256 })
    fc.assert(
      fc.property(fc.oneof(bytes(1500), damaged(admitted)), (body) => {
        const answer = readAnswer(body)
        if (answer?.kind === 'agreed') expect(answer.windowPackets).toBeLessThanOrEqual(FLOW_WINDOW)
        // One check: a report may name hundreds.
        expect(Math.max(0, ...readLosses(body).flat())).toBeLessThan(2 ** 31)
        expect(readAcknowledgement(body)?.sequence ?? 0).toBeLessThan(2 ** 31)
      }),
      RUNS,
    )
  })

  test('of the address of a target are one or a reason, and its secrets are never shown', () => {
    const secret = fc.stringMatching(/^[A-Za-z0-9_-]{12,79}$/)
    const more = fc.constantFrom('', '&latency=1', '&x=1', '&mode=caller', '%', '&passphrase=', '#a', '?')
    fc.assert(
      fc.property(secret, secret, more, fc.string({ unit: 'binary' }), (streamId, passphrase, rest, odd) => {
        const url = `srt://live.example.com:9000?streamid=${streamId}&passphrase=${passphrase}${rest}`
        const read = readTargetUrl(url)
        if (!read.ok) expect(read.error).toMatch(/^(must|has) /)
        expect([maskedUrl(url).includes(streamId), maskedUrl(url).includes(passphrase)]).toEqual([false, false])
        readTargetUrl(`srt://live.example.com:9000?${odd}`)
        maskedUrl(`srt://live.example.com:9000?${odd}`)
      }),
      RUNS,
    )
  })

  test('of a stream id name a stream, or say that the caller does not publish', () => {
    const parts = [
      'publish',
      'read',
      ':',
      '%3A',
      '%253a',
      '#!::',
      '%23%21',
      'r=',
      's=',
      't=',
      ',',
      '?',
      '%3D',
      '%',
      'live%2F',
      '\ud800',
    ]
    const pieces = fc.array(fc.constantFrom(...parts), { maxLength: 12, size: 'max' }).map((all) => all.join(''))
    fc.assert(
      fc.property(fc.oneof(pieces, fc.string({ unit: 'binary' })), (streamId) => {
        const read = readStreamId(streamId)
        if (!read.ok) expect(read.error).toBe('mode')
        else if (read.value.destination.kind === 'stream') expect(read.value.destination.streamName).not.toBe('')
      }),
      RUNS,
    )
  })

  test('of a key message open keys or none', async () => {
    const valid = keyMessage('a-passphrase', randomKeys(32), 3)
    await fc.assert(
      fc.asyncProperty(fc.oneof(bytes(), damaged(valid), fc.constant(valid)), async (message) => {
        const keys = await StreamKeys.open(message, 'a-passphrase')
        if (keys !== null) expect([128, 192, 256]).toContain(keys.keyBits)
      }),
      cases(500),
    )
  })
})

test('packets in any order leave in order, each at most once, and what is held stays within the window', () => {
  const step = fc.record({
    sequence: fc.oneof(fc.nat(40), fc.nat(2 ** 31 - 1), fc.integer({ min: 2 ** 31 - 20, max: 2 ** 31 - 1 })),
    laterMs: fc.nat(200),
    drops: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const delivered: number[] = []
      const deliver = (body: Buffer) => void delivered.push(body.readUInt32BE())
      const receiver = new SrtReceiver({ sequence: 0, latencyMs: 120, deliver, gap: () => undefined })
      let nowMs = 0
      for (const { sequence, laterMs, drops } of steps) {
        nowMs += laterMs
        const body = Buffer.alloc(4)
        body.writeUInt32BE(sequence)
        if (drops) receiver.drop([sequence, sequence])
        else receiver.take(sequence, body, nowMs)
        expect(writeLosses(receiver.tick(nowMs, 20)).length).toBeLessThanOrEqual(1440)
        expect(receiver.freePackets).toBeGreaterThanOrEqual(0)
        expect(receiver.freePackets).toBeLessThanOrEqual(FLOW_WINDOW)
      }
      for (const [at, sequence] of delivered.entries()) {
        if (at > 0) expect((sequence - (delivered[at - 1] ?? 0)) & 0x7fff_ffff).toBeLessThanOrEqual(0x3fff_ffff)
      }
    }),
    RUNS,
  )
})

/** Packets of which all but the last are equally long, in memory that begins anywhere. */
const run = fc
  .record({
    offset: fc.nat(9),
    headBytes: fc.nat(40),
    bodyBytes: fc.integer({ min: 1, max: 1500 }),
    packets: fc.integer({ min: 1, max: 130 }),
    sequence: fc.oneof(fc.nat(2 ** 31 - 1), fc.integer({ min: 2 ** 31 - 100, max: 2 ** 31 - 1 })),
    seed: fc.nat(255),
  })
  .chain((fields) => fc.record({ ...fixed(fields), lastBytes: fc.integer({ min: 1, max: fields.bodyBytes }) }))

const fixed = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, fc.constant(value)])) as {
    [K in keyof T]: fc.Arbitrary<T[K]>
  }

// A run has 3000 blocks of AES on the average.
test.each([16, 24, 32] as const)(
  'runs of packets encrypted with keys of %i bytes are those of AES-CTR, wherever they are in memory, and are decrypted',
  async (keyBytes) => {
    const made: Buffer[] = []
    const bytes = (count: number) => made[made.push(systemRandom.bytes(count)) - 1] ?? Buffer.alloc(0)
    const keys = await SendingKeys.make('a-passphrase', keyBytes, { bytes })
    const [salt = Buffer.alloc(0), key = Buffer.alloc(0)] = made
    const reader = StreamKeys.ofCaller('a-passphrase', key, salt)
    fc.assert(
      fc.property(run, ({ offset, headBytes, bodyBytes, packets, sequence, seed, lastBytes }) => {
        const everyBytes = headBytes + bodyBytes
        const length = (packets - 1) * everyBytes + lastBytes
        const plain = Buffer.from(Array.from({ length }, (_, at) => at * 31 + seed))
        const bodies = Buffer.concat([Buffer.alloc(offset), plain]).subarray(offset)
        keys.encrypt(bodies, sequence, { bodyBytes, everyBytes })
        for (let index = 0; index < packets; index++) {
          const at = index * everyBytes
          const [was, is] = [plain.subarray(at, at + bodyBytes), bodies.subarray(at, at + bodyBytes)]
          const number = sequenceAfter(sequence, index)
          const cipher = createCipheriv(`aes-${keyBytes * 8}-ctr`, key, counterOf(salt, number))
          if (!cipher.update(was).equals(is)) expect.fail(`packet ${index} is not encrypted as it should be`)
          if (!bodies.subarray(at + bodyBytes, at + everyBytes).equals(plain.subarray(at + bodyBytes, at + everyBytes)))
            expect.fail(`what is after packet ${index} was changed`)
          reader.decrypt(is, 1, number)
        }
        expect(bodies.equals(plain)).toBe(true)
      }),
      cases(150),
    )
  },
)
