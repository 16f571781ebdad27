import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { VIDEO_CODECS } from '../../src/media/codecs/codecs.ts'
import { addressBytes } from '../../src/media/relay/wire/address.ts'
import { FrameAssembler } from '../../src/media/codecs/assembler.ts'
import { videoReader } from '../../src/media/codecs/videoReader.ts'
import { splitNals } from '../../src/media/codecs/nalUnits.ts'
import { packetizer } from '../../src/media/codecs/packetizer.ts'
import { readAvcConfig, readSps } from '../../src/media/codecs/h264Config.ts'
import { opusSamples } from '../../src/media/codecs/opus.ts'
import * as rtcp from '../../src/media/relay/wire/rtcp/rtcp.ts'
import { extensionOf, parseRtp, payloadOf } from '../../src/media/relay/wire/rtp.ts'
import { buildAnswer } from '../../src/media/relay/wire/sdp/answer.ts'
import { parseCandidate } from '../../src/media/relay/wire/sdp/candidate.ts'
import { parseFragment } from '../../src/media/relay/wire/sdp/fragment.ts'
import { parseOffer } from '../../src/media/relay/wire/sdp/offer.ts'
import { planPublish, planView } from '../../src/media/relay/wire/sdp/plan.ts'
import { bindingRequest, isAuthentic, parseBindingRequest } from '../../src/media/relay/wire/stun.ts'
import { TransportFeedback } from '../../src/media/relay/wire/twcc.ts'
import { packetsOf } from '../media/relay/wire/captures/read.ts'
import { cases } from '../support/randomCases.ts'

const RUNS = cases(2000)
const bytes = fc.uint8Array({ maxLength: 200, size: 'max' }).map((data) => Buffer.from(data))

/** Valid bytes with some of them changed, and perhaps truncated. */
const mutated = (...good: readonly Buffer[]) =>
  fc
    .tuple(
      fc.constantFrom(...good),
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }),
      fc.nat(),
      fc.boolean(),
    )
    .map(([original, changes, end, isCut]) => {
      const copy = Buffer.from(original)
      for (const [at, byte] of changes) copy[at % copy.length] = byte
      return isCut ? copy.subarray(0, end % (copy.length + 1)) : copy
    })

const request = bindingRequest({ transactionId: Buffer.alloc(12, 7), username: 'abcd:efgh', password: 'secret' })
const report = {
  ssrc: 1,
  fractionLost: 1,
  packetsLost: 1,
  highestSequence: 1,
  jitter: 1,
  lastReport: 1,
  delaySinceLastReport: 1,
}
const feedback = new TransportFeedback()
for (let i = 0; i < 60; i++) feedback.arrived(i * (1 + (i % 3)), i * 30_000)
const compounds = [
  Buffer.concat([rtcp.writeReceiverReport(1, [report, report]), rtcp.writeSdes(1, 'name'), rtcp.writeBye([1])]),
  Buffer.concat([rtcp.writeNack(1, 2, [1, 2, 40]), rtcp.writeRemb(1, 1e6, [1, 2]), rtcp.writeFir(1, 2, 3)]),
  ...feedback.build(1, 2),
]

describe('no bytes from the network make it throw:', () => {
  it('STUN', () => {
    fc.assert(
      fc.property(fc.oneof(bytes, mutated(request)), (message) => {
        const read = parseBindingRequest(message)
        if (read !== null && isAuthentic(read, 'secret')) expect(message).toEqual(request)
      }),
      RUNS,
    )
  })

  it('RTP', () => {
    const good = Buffer.from('b2e0000100000002000000030000000a0000000bbede000200513132002041ffaabb00000003', 'hex')
    fc.assert(
      fc.property(fc.oneof(bytes, mutated(good)), fc.nat(300), (packet, id) => {
        const header = parseRtp(packet)
        if (header === null) return
        expect(payloadOf(packet, header).length).toBe(header.payloadEnd - header.payloadStart)
        expect(extensionOf(packet, header, id)?.length ?? 0).toBeLessThanOrEqual(255)
      }),
      RUNS,
    )
  })

  it('RTCP', () => {
    fc.assert(
      fc.property(fc.oneof(bytes, mutated(...compounds)), (compound) => {
        expect(rtcp.parseRtcp(compound)?.length ?? 0).toBeLessThanOrEqual(64)
      }),
      RUNS,
    )
  })

  it.each(VIDEO_CODECS)('%s', (codec) => {
    const good = packetsOf(codec === 'av1' || codec === 'hevc' ? 'vp9' : codec).map(({ payload }) => payload)
    const payloads = fc.array(fc.tuple(fc.oneof(bytes, mutated(...good)), fc.nat(40), fc.nat(5), fc.boolean()), {
      maxLength: 30,
      size: 'max',
    })
    fc.assert(
      fc.property(payloads, (packets) => {
        const assembler = new FrameAssembler(videoReader(codec))
        let [index, timestamp] = [0, 0]
        for (const [payload, step, ticks, marker] of packets) {
          index += step === 40 ? 5000 : step - 2
          timestamp += ticks
          assembler.push({ index, timestamp, marker, payload }, index)
        }
        for (const [payload] of packets) videoReader(codec).join([payload, payload])
        for (const [payload, , , key] of packets) packetizer(codec, payload, 100)(payload, key)
      }),
      cases(300),
    )
  })

  it('parameter sets, frames and Opus', () => {
    const config = Buffer.from('0142c00affe1000a6742c00a8c8d40401e110101000468ce3c80', 'hex')
    fc.assert(
      fc.property(fc.oneof(bytes, mutated(config)), (data) => {
        readAvcConfig(data)
        readSps(data)
        splitNals(data)
        opusSamples(data)
      }),
      RUNS,
    )
  })
})

describe('no text makes it throw:', () => {
  const load = (name: string) =>
    readFileSync(new URL(`../media/relay/wire/offers/${name}.sdp`, import.meta.url), 'utf8').split('\r\n')
  const offers = ['browser-publish', 'browser-view', 'browser-simulcast'].map(load)
  const odd = fc.oneof(
    fc.string({ maxLength: 30, size: 'max' }),
    fc.constantFrom(
      '',
      'm=',
      'm=video 9 UDP/TLS/RTP/SAVPF',
      'a=mid:',
      'a=group:BUNDLE',
      'a=rtpmap:999999 x',
      'a=simulcast:send ;;~,',
    ),
  )
  /** Lines dropped, duplicated, moved or replaced. */
  const hostile = fc
    .tuple(fc.constantFrom(...offers), fc.array(fc.tuple(fc.nat(), fc.nat(3), odd), { maxLength: 6 }))
    .map(([lines, changes]) => {
      const copy = [...lines]
      for (const [at, kind, text] of changes) {
        const place = at % (copy.length + 1)
        if (kind === 0) copy.splice(place, 1)
        if (kind === 1) copy.splice(place, 0, copy[place] ?? '')
        if (kind === 2) copy.splice(place, 1, text)
        if (kind === 3) copy.splice(place, 0, text, ...copy.splice(place, 2).toReversed())
      }
      return copy.join('\r\n')
    })
  const transport = {
    iceUfrag: 'u',
    icePwd: 'p',
    fingerprint: 'f',
    sdpId: '1',
    hosts: [{ transport: 'udp', address: '127.0.0.1', port: 1 }],
    transportCc: true,
  } as const

  it('offers, and the answer has the m-lines of the offer in their order', () => {
    fc.assert(
      fc.property(fc.oneof(hostile, fc.string()), (text) => {
        const offer = parseOffer(text)
        if (!offer.ok) {
          expect(offer.error.problem).toMatch(/^[A-Z].*\.$/s)
          return
        }
        planView(offer.value, { video: { codec: 'vp8', profile: null }, audio: null })
        const plan = planPublish(offer.value, null)
        if (!plan.ok) return
        const answers = plan.value.map((chosen) => chosen && { direction: 'recvonly' as const, chosen, rids: [] })
        const mids = [...buildAnswer(offer.value, transport, answers).matchAll(/^a=mid:(.*)\r$/gm)].map(
          (match) => match[1],
        )
        // An m-line alone needs none.
        expect(mids).toEqual(offer.value.media.map(({ mid }) => mid).filter((mid) => mid !== ''))
      }),
      RUNS,
    )
  })

  it('fragments, candidates and addresses', () => {
    const text = fc.oneof(
      fc.string(),
      hostile,
      fc.constantFrom('1 1 udp 1 ::1 1 typ host tcptype so'),
      fc.ipV6(),
      fc.ipV4Extended(),
    )
    fc.assert(
      fc.property(text, (some) => {
        parseFragment(some)
        parseCandidate(some)
        expect([undefined, 4, 16]).toContain(addressBytes(some)?.length)
      }),
      RUNS,
    )
  })
})
