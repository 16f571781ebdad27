import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import type { Frame, TrackInfo } from '../../src/media/frame.ts'
import { amfObject, decodeAmf } from '../../src/media/rtmp/amf0.ts'
import { ChunkReader } from '../../src/media/rtmp/chunkReader.ts'
import { readCommand, readTarget } from '../../src/media/rtmp/commands.ts'
import { RtmpIngest } from '../../src/media/rtmp/ingest.ts'
import { parseAudio, parseVideo, withFourByteLengths } from '../../src/media/rtmp/flv.ts'
import { FlvReader } from '../../src/media/rtmp/flvTags.ts'
import { readFourccs } from '../../src/media/rtmp/flvWriter.ts'
import { RtmpHandshake } from '../../src/media/rtmp/handshake.ts'
import { controlMessage, EVENT, MESSAGE, userControl, writeMessage } from '../../src/media/rtmp/messages.ts'
import { RtmpPlayer } from '../../src/media/rtmp/player.ts'
import { reconnectingUrl, remoteUrl } from '../../src/media/rtmp/reconnect.ts'
import { connected, result } from '../../src/media/rtmp/replies.ts'
import { OggOpusReader } from '../../src/media/convert/ogg.ts'
import { readDestination } from '../../src/edge/rtmp/address.ts'
import { connectMessage, opening } from '../media/rtmp/client.ts'
import { enhancedAudio, enhancedVideo, FORM, ofTracks, OPUS_HEAD, PACKET } from '../media/rtmp/enhanced.ts'
import {
  aacConfig,
  aggregateOf,
  audioFrame,
  AV1_CONFIG,
  AVC_CONFIG,
  avcConfig,
  HEVC_CONFIG,
  message,
  videoFrame,
} from '../media/rtmp/media.ts'
import { strictLog } from '../support/log.ts'
import { cases } from '../support/randomCases.ts'
import { errorTo, statusOf } from '../support/rtmpSource.ts'

const RUNS = cases(2000)
const bytes = (maxLength = 300) => fc.uint8Array({ maxLength, size: 'max' }).map((array) => Buffer.from(array))

/** Valid bytes with a few of them changed, and truncated somewhere. */
const damaged = (valid: Buffer) =>
  fc
    .tuple(fc.array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { maxLength: 6 }), fc.nat(valid.length))
    .map(([changes, length]) => {
      const copy = Buffer.from(valid)
      for (const [at, byte] of changes) copy[at] = byte
      return copy.subarray(0, length)
    })

const commands = opening('v2/pub', 'show?token=x').subarray(3073)

const configured = Buffer.concat([Buffer.from([0x17, 0, 0, 0, 0]), AVC_CONFIG])
/** Configurations and frames of enhanced RTMP; the last has an extension with nanoseconds. */
const ENHANCED = [
  enhancedVideo('hvc1', PACKET.start, HEVC_CONFIG),
  enhancedVideo('hvc1', PACKET.frames, Buffer.from([0, 0, 9, 0, 0, 0, 3, 0x26, 1, 7])),
  enhancedVideo('av01', PACKET.start, AV1_CONFIG),
  enhancedVideo('av01', PACKET.frames, Buffer.concat([AV1_CONFIG.subarray(4), Buffer.from([0x32, 1, 9])])),
  enhancedVideo('vp09', PACKET.start, Buffer.from([1, 0, 0, 0])),
  enhancedVideo('vp09', PACKET.frames, Buffer.from('8249834200063000420a', 'hex')),
  enhancedAudio('Opus', PACKET.start, OPUS_HEAD),
  enhancedAudio('Opus', PACKET.frames, Buffer.from([0xfc, 1])),
].map(({ payload }) => payload)
/** The same as tracks of their own, and several in one message. */
const TRACKS = Object.values(FORM).flatMap((form) =>
  ENHANCED.map((payload) => {
    const sent = message(payload.readUInt8(0) >> 4 === 9 ? MESSAGE.audio : MESSAGE.video, 0, payload)
    const ids = form === FORM.oneTrack ? [200] : [1, 200]
    return ofTracks(
      form,
      ids.map((trackId) => ({ trackId, sent })),
    ).payload
  }),
)
const modified = Buffer.concat([
  Buffer.from([0x97, 2, 7, 0xa1, 0x20, PACKET.framesX]),
  Buffer.from('hvc1'),
  Buffer.alloc(9),
])
const enhanced = fc.oneof(
  ...[...ENHANCED, ...TRACKS, modified].flatMap((valid) => [fc.constant(valid), damaged(valid)]),
)

/** S0, S1 and S2. */
const HELLO = Buffer.concat([Buffer.from([3]), Buffer.alloc(3072)])

/** A connection whose other side the test plays. */
class SilentSocket extends EventEmitter {
  readonly destroyed = false
  readonly writable = true
  readonly writableLength = 0
  isDestroyed = false
  write(): boolean {
    return true
  }
  pause(): void {
    // The test gives it all at once.
  }
  resume(): void {
    // As `pause`.
  }
  destroy(): void {
    this.isDestroyed = true
  }
}

describe('any bytes', () => {
  test('chunks give messages within the limits or a sentence, however they are split', () => {
    fc.assert(
      fc.property(fc.oneof(bytes(), damaged(commands)), fc.nat(300), (sent, cut) => {
        const whole = new ChunkReader(1000).push(sent)
        const reader = new ChunkReader(1000)
        const first = reader.push(sent.subarray(0, cut))
        const second = first.ok ? reader.push(sent.subarray(cut)) : first
        expect(second.ok).toBe(whole.ok)
        if (!whole.ok) expect(second).toEqual(whole)
        if (!whole.ok || !first.ok || !second.ok) return
        expect(first === second ? second.value : [...first.value, ...second.value]).toEqual(whole.value)
        for (const { payload } of whole.value) expect(payload.length).toBeLessThanOrEqual(1000)
      }),
      RUNS,
    )
  })

  test('AMF0 gives values or a sentence, and never more values than its bytes can encode', () => {
    fc.assert(
      fc.property(fc.oneof(bytes(), damaged(commands.subarray(12))), (sent) => {
        const result = decodeAmf(sent)
        if (result.ok) expect(result.value.length).toBeLessThanOrEqual(sent.length)
        else expect(result.error).toMatch(/AMF0/)
      }),
      RUNS,
    )
  })

  test('commands and their addresses are parsed or refused', () => {
    fc.assert(
      fc.property(fc.oneof(bytes(), damaged(commands.subarray(12))), (payload) => {
        for (const type of [MESSAGE.command, MESSAGE.commandAmf3]) {
          const command = readCommand({ type, streamId: 0, timestamp: 0, payload })
          if (command.ok) readTarget(command.value.parameters[0])
        }
      }),
      RUNS,
    )
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (app, name, query) => {
        const destination = readDestination({ app, name, query: new URLSearchParams(query) })
        expect(['stream', 'key', 'none']).toContain(destination.kind)
      }),
      RUNS,
    )
  })

  test('what clients and servers say of enhanced RTMP is read, or counts as not said', () => {
    const hellos = [
      connectMessage('app', { capsEx: 15, fourCcList: ['hvc1', '*'], videoFourCcInfoMap: amfObject({ av01: 5 }) }),
      ...connected(1),
    ].map(({ payload }) => payload)
    const node = { url: 'https://a.example.com', rtmpPort: 1935, rtmpsPort: 443 }
    const move = {
      from: node,
      to: [
        { url: 'https://b.example.com', rtmpPort: 0, rtmpsPort: 1936 },
        { ...node, rtmpPort: null },
      ],
    }
    const address = Buffer.from('rtmps://user@a.example.com:443/app/x?y=z')
    fc.assert(
      fc.property(fc.oneof(bytes(), ...hellos.map(damaged)), damaged(address), (payload, url) => {
        const command = readCommand({ type: MESSAGE.command, streamId: 0, timestamp: 0, payload })
        if (!command.ok) return
        const { object, parameters } = command.value
        for (const name of readFourccs([object, ...parameters])) expect(name).toBeTypeOf('string')
        for (const tcUrl of [reconnectingUrl(object), url.toString('latin1')]) {
          const remote = tcUrl === null ? null : remoteUrl(tcUrl, move)
          if (remote !== null) expect(URL.canParse(remote)).toBe(true)
        }
      }),
      RUNS,
    )
  })

  test('audio and video messages give media, give nothing, or are refused with a sentence', () => {
    fc.assert(
      fc.property(fc.oneof(bytes(), damaged(configured), enhanced), (payload) => {
        for (const parts of [parseVideo(payload), parseAudio(payload)]) {
          expect(parts.length).toSatisfy((count: number) => count >= 1 && count <= 17)
          for (const { trackId, read } of parts) {
            expect(trackId).toBeLessThanOrEqual(255)
            if (!read.ok) expect(read.error.message).toMatch(/^[A-Z].*[^.]$/)
            else if (read.value.kind === 'track' && read.value.track.kind === 'video') {
              expect(read.value.track.width).toBeLessThanOrEqual(65_536)
            }
          }
        }
      }),
      RUNS,
    )
  })

  test('any messages of a publication give frames whose times never are negative, or are left out', () => {
    const part = fc.record({
      type: fc.constantFrom(MESSAGE.audio, MESSAGE.video),
      timestamp: fc.oneof(fc.nat(2 ** 32 - 1), fc.nat(60_000)),
      payload: fc.oneof(
        bytes(),
        damaged(configured),
        damaged(Buffer.from([0x17, 1, 0, 0, 0, 0, 0, 0, 2, 0x65, 1])),
        enhanced,
      ),
      laterMs: fc.nat(20_000),
    })
    fc.assert(
      fc.property(fc.array(part, { maxLength: 30, size: 'max' }), (parts) => {
        let nowMs = 0
        let layers: readonly (string | undefined)[] = []
        const sink = {
          takesLayers: true as const,
          tracks: (tracks: readonly TrackInfo[]) => {
            layers = tracks.flatMap((track) => (track.kind === 'video' ? [track.layer] : []))
            expect(new Set(layers).size).toBe(layers.length)
            expect(layers.length).toBeLessThanOrEqual(8)
          },
          frame: ({ kind, layer, timeUs, decodeTimeUs }: Frame) => {
            expect(Math.min(timeUs, decodeTimeUs)).toBeGreaterThanOrEqual(0)
            if (kind === 'video') expect(layers).toContain(layer)
          },
          end: () => undefined,
        }
        const leftOut = (what: string) => expect(what).toMatch(/^[A-Z].*[^.]$/)
        const ingest = new RtmpIngest(sink, { clock: { monotonic: () => nowMs }, leftOut })
        for (const { laterMs, ...one } of parts) {
          nowMs += laterMs
          const taken = ingest.take({ streamId: 1, ...one })
          if (!taken.ok) expect(taken.error.message).toMatch(/(is|are) not supported(; send|: track)/)
        }
      }),
      RUNS,
    )
  })

  test('NAL units get lengths of four bytes that add up, or are refused', () => {
    fc.assert(
      fc.property(bytes(60), fc.integer({ min: 1, max: 4 }), (data, lengthBytes) => {
        const result = withFourByteLengths(data, lengthBytes)
        if (result) expect(withFourByteLengths(result, 4)).toEqual(result)
      }),
      RUNS,
    )
  })

  test('the handshake answers once, in 3073 bytes, or refuses', () => {
    fc.assert(
      fc.property(fc.nat(255), fc.array(fc.nat(4000), { maxLength: 5 }), (version, lengths) => {
        const handshake = new RtmpHandshake(systemRandom)
        let replied = 0
        for (const [at, length] of lengths.entries()) {
          const step = handshake.push(Buffer.alloc(length, at === 0 ? version : 0))
          if (!step.ok) expect(step.error.problem).toMatch(/^[A-Z].*[^.]$/)
          if (!step.ok) break
          replied += step.value.reply.length
          if (step.value.rest !== null) break
        }
        expect([0, 3073]).toContain(replied)
      }),
      RUNS,
    )
  })

  test('whatever a server answers, a player takes frames or ends once, with a sentence', () => {
    const playing = statusOf('NetStream.Play.Start')
    const opened = [...connected(1), ...result(2, 1), playing, controlMessage(MESSAGE.windowSize, 1)]
    const media = [avcConfig(), aacConfig(), videoFrame(0), audioFrame(5)]
    const answers = [
      ...media,
      aggregateOf(9, [videoFrame(40), audioFrame(45)]),
      ...ENHANCED.map((payload, at) => message(at < 6 ? MESSAGE.video : MESSAGE.audio, at, payload)),
      userControl(EVENT.pingRequest, 7),
      errorTo(3, 'NetStream.Play.Failed'),
    ]
    const talk = fc
      .tuple(fc.shuffledSubarray(answers), fc.nat(9))
      .map(([some, chunkStreamId]) =>
        Buffer.concat([...opened, ...some].map((one) => writeMessage(one, { chunkStreamId: 3 + chunkStreamId }))),
      )
    fc.assert(
      fc.property(fc.oneof(talk, talk.chain(damaged), bytes()), fc.nat(5000), (said, cut) => {
        const socket = new SilentSocket()
        const [ends, frames]: [string[], Frame[]] = [[], []]
        const player = new RtmpPlayer({
          socket: socket as unknown as Socket,
          random: systemRandom,
          clock: systemClock,
          log: strictLog,
          maxFrameBytes: 100_000,
          url: new URL('rtmp://host/app/stream'),
          sink: { tracks: () => undefined, frame: (frame) => void frames.push(frame), end: () => undefined },
          leftOut: (what) => expect(what).toMatch(/^[A-Z].*[^.]$/),
          ended: ({ message: why }) => void ends.push(why),
        })
        void player.start()
        for (const part of [HELLO, said.subarray(0, cut), said.subarray(cut)]) socket.emit('data', part)
        expect(frames.every(({ timeUs, decodeTimeUs }) => Math.min(timeUs, decodeTimeUs) >= 0)).toBe(true)
        socket.emit('close')
        expect(ends).toHaveLength(1)
        expect(ends[0]).toMatch(/^[A-Z].*[^.]$/s)
        expect(socket.isDestroyed).toBe(true)
      }),
      RUNS,
    )
  })

  test('the output of a converter never breaks its readers', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            bytes(),
            bytes().map((data) => Buffer.concat([Buffer.from('OggS'), data])),
          ),
        ),
        (parts) => {
          const ogg = new OggOpusReader()
          const flv = new FlvReader()
          for (const part of parts) {
            for (const { timeUs } of ogg.push(part) ?? []) expect(timeUs).toBeGreaterThanOrEqual(0)
            flv.push(part)
          }
        },
      ),
      RUNS,
    )
  })
})
