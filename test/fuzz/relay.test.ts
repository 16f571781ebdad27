import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { createJsFanout } from '../../src/media/relay/forward/fanout.ts'
import { tap } from '../../src/media/relay/forward/tap.ts'
import { Publisher } from '../../src/media/relay/inbound/publisher.ts'
import { ControlChannel } from '../../src/media/relay/link/controlChannel.ts'
import { derivedLinkSecrets, linkSession } from '../../src/media/relay/link/linkTransport.ts'
import { messageOf } from '../../src/media/relay/link/nodeMessages.ts'
import { negotiatePublish } from '../../src/media/relay/negotiation.ts'
import { Viewer } from '../../src/media/relay/outbound/viewer.ts'
import { HandshakeOrder } from '../../src/media/relay/transport/dtlsOrder.ts'
import { cookieIn, recordsOf } from '../../src/media/relay/transport/dtlsRecords.ts'
import { messageReader } from '../../src/media/relay/transport/tcp.ts'
import type { RtcpPacket } from '../../src/media/relay/wire/rtcp/rtcp.ts'
import { unwrapSequence } from '../../src/media/relay/wire/rtp.ts'
import { writeRtp } from '../support/rtpPackets.ts'
import { bindingSuccess, isAuthentic, parseBindingSuccess } from '../../src/media/relay/wire/stun.ts'
import { downTrackTo, MEDIA, RecordingSender, REPAIR } from '../media/relay/parts.ts'
import { cases } from '../support/randomCases.ts'

const START_MS = 1_750_000_000_000
const OFFER = readFileSync(new URL('../media/relay/wire/offers/browser-simulcast.sdp', import.meta.url), 'utf8')
/** As the offer has them: VP8 and its RTX; transport-wide numbers, RID, repaired RID. */
const [VP8, RTX, TRANSPORT_CC, RID, REPAIRED_RID] = [96, 97, 4, 10, 11]
const KEYFRAME = Buffer.from([0x10, 0x10, 0, 0, 0x9d, 0x01, 0x2a, 0x80, 0x02, 0xe0, 0x01])

const u32 = fc.oneof(fc.constantFrom(0, 1, 2 ** 31, 2 ** 32 - 1), fc.nat(2 ** 32 - 1))
const block = fc.record({
  ssrc: fc.constantFrom(1, 2, MEDIA, REPAIR, 99),
  fractionLost: fc.nat(255),
  packetsLost: fc.integer({ min: -(2 ** 23), max: 2 ** 23 - 1 }),
  highestSequence: u32,
  jitter: u32,
  lastReport: u32,
  delaySinceLastReport: u32,
})
const ssrc = fc.constantFrom(1, 2, MEDIA, 99)
const control: fc.Arbitrary<RtcpPacket> = fc.oneof(
  fc.record({ kind: fc.constant('rr' as const), ssrc, reports: fc.array(block, { maxLength: 31, size: 'max' }) }),
  fc.record({
    kind: fc.constant('sr' as const),
    ssrc,
    reports: fc.constant([]),
    ntpSeconds: u32,
    ntpFraction: u32,
    rtpTimestamp: u32,
    packetCount: u32,
    octetCount: u32,
  }),
  fc.record({
    kind: fc.constant('nack' as const),
    senderSsrc: u32,
    mediaSsrc: ssrc,
    sequences: fc.array(fc.nat(0xffff), { maxLength: 1000, size: 'max' }),
  }),
  fc.record({ kind: fc.constant('pli' as const), senderSsrc: u32, mediaSsrc: ssrc }),
  fc.record({
    kind: fc.constant('remb' as const),
    senderSsrc: u32,
    bitrate: fc.constantFrom(0, 1, 2e5, 2e6, 0x3ffff * 2 ** 63),
    ssrcs: fc.constant([MEDIA]),
  }),
)

/** Packets of one stream that come together. */
const burst = fc.record({
  count: fc.constantFrom(1, 2, 30, 150),
  ssrc: fc.constantFrom(1, 2, 3),
  payloadType: fc.constantFrom(VP8, VP8, VP8, RTX, 0),
  /** From one to the next: of its own numbers, and of the transport. */
  step: fc.constantFrom(1, 1, 2, 300, -1, 0x7fff),
  transportStep: fc.constantFrom(1, 1, 999, 1000, 0x7fff, -300),
  ticks: fc.constantFrom(0, 3000, 2 ** 31, -90_000),
  rid: fc.constantFrom('h', 'm', 'l', '', 'none'),
  payload: fc.oneof(
    fc.constant(KEYFRAME),
    fc.uint8Array({ maxLength: 60, size: 'max' }).map((bytes) => Buffer.from(bytes)),
  ),
  passesMs: fc.constantFrom(0, 20, 60, 1000, 70_000),
})

/** A publisher with a viewer and a recorder, on a manual clock. */
function onAir() {
  const agreed = negotiatePublish(OFFER, null)
  if (!agreed.ok) throw new Error('refused')
  const transport = { isConnected: true, sendRtcp: () => undefined }
  const about = { sessionId: 'p', sourceId: null, lines: agreed.value.lines, maxBitrate: 2_500_000 }
  const tracks = (): void => undefined
  const publisher = new Publisher({ ...about, transport, createFanout: createJsFanout, tracks }, START_MS)
  const sender = new RecordingSender()
  const viewer = new Viewer({ transport, downTracks: [downTrackTo(sender)], cname: 'v' })
  viewer.show(publisher.source, START_MS)
  let lastUs = -1
  const frame = ({ kind, timeUs }: { kind: string; timeUs: number }): void => {
    if (kind !== 'video') return
    expect(timeUs).toBeGreaterThan(lastUs)
    lastUs = timeUs
  }
  tap(publisher.source, { tracks, frame, end: () => undefined }, START_MS)
  return { publisher, viewer, sender }
}

it('nothing that an admitted publisher or viewer sends makes a relay throw, or use a number twice', () => {
  const steps = fc.array(fc.oneof(burst, fc.array(control, { maxLength: 4 })), { maxLength: 20, size: 'max' })
  fc.assert(
    fc.property(steps, (all) => {
      const { publisher, viewer, sender } = onAir()
      let [nowMs, transportSequence, timestamp] = [START_MS, 0, 0]
      const highest = new Map<number, number>()
      for (const one of all) {
        if (Array.isArray(one)) {
          publisher.rtcp(one, nowMs)
          viewer.rtcp(one, nowMs)
        } else {
          for (let left = one.count; left > 0; left--) {
            const before = highest.get(one.ssrc) ?? 30_000
            const index = unwrapSequence(before, (before + one.step) & 0xffff)
            highest.set(one.ssrc, Math.max(before, index))
            transportSequence = (transportSequence + one.transportStep) & 0xffff
            timestamp = (timestamp + one.ticks) >>> 0
            const number = Buffer.alloc(2)
            number.writeUInt16BE(transportSequence)
            const rid = { id: one.payloadType === RTX ? REPAIRED_RID : RID, value: Buffer.from(one.rid) }
            const extensions = [{ id: TRANSPORT_CC, value: number }, ...(one.rid === '' ? [] : [rid])]
            const { payloadType } = one
            const fields = { marker: left === 1, payloadType, sequence: index & 0xffff, timestamp, ssrc: one.ssrc }
            publisher.rtp(writeRtp(fields, one.payload, extensions), index, nowMs)
          }
          nowMs += one.passesMs
        }
        publisher.pace(nowMs)
        viewer.pace(nowMs)
        viewer.tick(nowMs)
      }
      const media = new Map<number, string>()
      for (const { index, timestamp: time, payload } of sender.on(MEDIA)) {
        const content = `${time} ${payload}`
        expect(media.get(index) ?? content).toBe(content)
        media.set(index, content)
      }
      const repairs = sender.on(REPAIR).map(({ index }) => index)
      expect(new Set(repairs).size).toBe(repairs.length)
    }),
    cases(400),
  )
})

const bytes = fc.uint8Array({ maxLength: 200, size: 'max' }).map((data) => Buffer.from(data))

it('no bytes make the readers of STUN, DTLS and TCP throw', () => {
  const answer = bindingSuccess(Buffer.alloc(12, 7), '192.0.2.1', 9, 'secret')
  const changed = fc.tuple(fc.nat(answer.length - 1), fc.nat(255)).map(([at, byte]) => {
    const copy = Buffer.from(answer)
    copy[at] = byte
    return copy
  })
  const record = fc
    .tuple(fc.constantFrom(20, 21, 22, 23), bytes)
    .map(([type, body]) =>
      Buffer.concat([Buffer.from([type, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, body.length]), body]),
    )
  fc.assert(
    fc.property(fc.oneof(bytes, changed), fc.oneof(bytes, record), bytes, (stun, dtls, stream) => {
      const read = parseBindingSuccess(stun)
      // What comes after the signature is not signed.
      const signed = (message: Buffer): Buffer => message.subarray(0, read?.integrityAt)
      if (read !== null && isAuthentic(read, 'secret')) expect(signed(stun)).toEqual(signed(answer))
      const order = new HandshakeOrder()
      for (const one of recordsOf(dtls)) {
        cookieIn(one.subarray(13))
        order.takes(one.subarray(13))
      }
      messageReader(() => undefined)(stream)
    }),
    cases(2000),
  )
})

it('no message of a node that has the keys makes the other one throw', () => {
  const KEY = Buffer.alloc(32, 5)
  const sessionOf = (end: 'parent' | 'child') => linkSession(derivedLinkSecrets(KEY, 'control'), end, null)
  const kind = fc.constantFrom('open', 'close', 'rates', 'aside', 'want', 'other')
  const message = fc
    .tuple(
      kind,
      fc.dictionary(fc.constantFrom('linkId', 'sessionId', 'tracks', 'bitrates', 'sizes', 'ssrcs'), fc.jsonValue()),
    )
    .map(([name, fields]) => ({ kind: name, ...fields }))
  fc.assert(
    fc.property(fc.oneof(message, fc.jsonValue()), bytes, (some, rest) => {
      expect([null, 'open', 'close', 'rates', 'aside', 'want']).toContain(
        messageOf(some, { room: 'a/show', key: KEY })?.kind ?? null,
      )
      const [from, to] = [sessionOf('parent'), sessionOf('child')]
      const channel = new ControlChannel({ srtp: to, ssrc: 7, send: () => undefined })
      const head = Buffer.from('80cc000000000007736c6365', 'hex')
      const compound = Buffer.concat([head, rest])
      channel.take(from.sealRtcp(compound))
    }),
    cases(500),
  )
})
