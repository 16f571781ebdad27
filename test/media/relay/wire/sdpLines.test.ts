import { describe, expect, it } from 'vitest'
import { candidateLines, parseCandidate } from '../../../../src/media/relay/wire/sdp/candidate.ts'
import { attributesOf, first, has, readSections } from '../../../../src/media/relay/wire/sdp/lines.ts'
import { type OfferedMedia, readMedia } from '../../../../src/media/relay/wire/sdp/media.ts'
import { parseOffer } from '../../../../src/media/relay/wire/sdp/offer.ts'
import { planPublish } from '../../../../src/media/relay/wire/sdp/plan.ts'
import { load, planned, read } from './offers.ts'

const publisher = load('browser-publish')

/** A hash of so many bytes, as SDP writes it. */
const pairs = (bytes: number): string => Array(bytes).fill('AB').join(':')

const mediaOf = (lines: readonly string[]): OfferedMedia => {
  const sections = readSections(lines.join('\n'))
  const read = sections.ok && sections.value.media[0] ? readMedia(sections.value.media[0], true) : null
  if (!read?.ok) throw new Error('it cannot be read')
  return read.value
}

describe('the lines of SDP', () => {
  it('are read with every end of a line, into the session and its media', () => {
    const read = readSections('v=0\r\na=one:1\na=one:2:3\r\rm=audio 1\na=flag\na=:x\ns=-')
    if (!read.ok) throw new Error(read.error.problem)
    const { session, media } = read.value
    expect([attributesOf(session, 'one'), first(session, 'one'), has(session, 'flag')]).toEqual([
      ['1', '2:3'],
      '1',
      false,
    ])
    expect(media.map((one) => [one.media, first(one, 'flag'), first(one, ''), has(one, 'one')])).toEqual([
      ['audio 1', '', 'x', false],
    ])
    expect(attributesOf(session, 'two')).toEqual([])
  })

  it.each<[string, string, string | null]>([
    ['131072 characters', 'a=x\n'.repeat(400).padEnd(131_072, '\n'), null],
    ['a line of 4096', `a=${'x'.repeat(4094)}`, null],
    [
      'one more attribute',
      'a=x\n'.repeat(1001),
      'Line 1001 of the SDP is the attribute after the 1000 that are allowed.',
    ],
  ])('of %s are taken, or refused with the place', (_, text, problem) => {
    const read = readSections(text)
    expect(read.ok ? null : read.error.problem).toBe(problem)
  })
})

describe('a candidate', () => {
  it.each([
    ['1 1 udp 4294967295 192.0.2.1 65535 typ host', { priority: 4_294_967_295, address: '192.0.2.1', port: 65_535 }],
    ['1 1 UDP 5 host.local 0 typ SRFLX raddr 0.0.0.0', { priority: 5, address: 'host.local', port: 0 }],
    ['1 1 udp 5 ::1 9 typ host tcptype passive', { priority: 5, address: '::1', port: 9 }],
    ['1 1 tcp 5 ::1 9 typ host tcptype passive', null],
    ['1 2 udp 5 ::1 9 typ host', null],
    ['1 1 udp 5 ::1 9 typ hosts', null],
    ['1 1 udp 4294967296 ::1 9 typ host', null],
    ['1 1 udp 5 ::1 65536 typ host', null],
  ])('%s', (text, expected) => {
    expect(parseCandidate(text)).toEqual(expected)
  })

  it('of ours has the priority of RFC 8445, UDP before TCP, and addresses in their order', () => {
    const at = (transport: 'udp' | 'tcp', port: number) => ({ transport, address: '192.0.2.1', port })
    const lines = candidateLines([at('udp', 1), at('udp', 2), at('tcp', 3), at('tcp', 4)])
    expect(lines).toEqual([
      `a=candidate:1 1 udp ${126 * 2 ** 24 + 65_535 * 256 + 255} 192.0.2.1 1 typ host`,
      `a=candidate:2 1 udp ${126 * 2 ** 24 + 65_534 * 256 + 255} 192.0.2.1 2 typ host`,
      `a=candidate:3 1 tcp ${90 * 2 ** 24 + (4 * 8192 + 8189) * 256 + 255} 192.0.2.1 3 typ host tcptype passive`,
      `a=candidate:4 1 tcp ${90 * 2 ** 24 + (4 * 8192 + 8188) * 256 + 255} 192.0.2.1 4 typ host tcptype passive`,
    ])
  })
})

describe('an m-line', () => {
  it('is read with what it says, and nothing of what is malformed', () => {
    const media = mediaOf([
      'm=video 9/2 UDP/TLS/RTP/SAVPF 96 97 96 128 x',
      'a=mid:v',
      'a=rtcp-mux',
      'a=rtcp-rsize',
      'a=recvonly',
      'a=rtpmap:96 H264/90000',
      'a=rtpmap:96 VP8/90000',
      'a=rtpmap:97 VP9/90000/2',
      'a=rtpmap:128 VP9/90000',
      'a=rtpmap:x VP9/90000',
      'a=fmtp:96 Profile-Level-Id=42e01f; x=a=b ;flag',
      'a=rtcp-fb:* nack',
      'a=rtcp-fb:96  nack pli ',
      'a=rtcp-fb:97 goog-remb',
      'a=rtcp-fb:96',
      'a=candidate:1 1 udp 5 ::1 9 typ host',
      'a=candidate:nonsense',
      ...['1 urn:one', '255/sendonly urn:two', '0 urn:no', '256 urn:no', '7/inactive urn:no', 'x urn:no', '3'].map(
        (one) => `a=extmap:${one}`,
      ),
      ...['FID 1 2', 'SIM 1 2', 'FID 1', 'FID 1 x', 'FID x 1', 'FID 4294967296 1', 'FID 3 4294967295'].map(
        (one) => `a=ssrc-group:${one}`,
      ),
      ...['h send', 'm send pt=96', 'l send', 'r recv', 'n sendx', '! send'].map((one) => `a=rid:${one}`),
      'a=simulcast:recv r send h;~m,h;q;h;r;n;l',
    ])
    expect(media).toMatchObject({
      mid: 'v',
      kind: 'video',
      media: 'video',
      formats: ['96', '97', '96', '128', 'x'],
      isOpen: true,
      direction: 'recvonly',
      reducedSize: true,
      candidates: [{ address: '::1' }],
      extensions: [
        { id: 1, uri: 'urn:one' },
        { id: 255, uri: 'urn:two' },
      ],
      rtxPairs: [
        { media: 1, rtx: 2 },
        { media: 3, rtx: 4_294_967_295 },
      ],
      rids: ['h', 'm', 'l'],
    })
    expect(media.codecs.map(({ payloadType, name, channels }) => [payloadType, name, channels])).toEqual([
      [96, 'h264', 1],
      [97, 'vp9', 2],
    ])
    const [h264, vp9] = media.codecs
    expect([...(h264?.fmtp ?? [])]).toEqual([
      ['profile-level-id', '42e01f'],
      ['x', 'a=b'],
      ['flag', ''],
    ])
    expect([h264?.feedback, vp9?.feedback, vp9?.fmtpText]).toEqual([
      ['nack', 'nack pli', ''],
      ['nack', 'goog-remb'],
      '',
    ])
  })

  it('is bounded in all that an offer can make long', () => {
    const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1)
    const media = mediaOf([
      `m=video 9 UDP/TLS/RTP/SAVPF ${numbers(130)
        .map((one) => one % 127)
        .join(' ')}`,
      'a=rtcp-mux',
      ...numbers(40).map((one) => `a=extmap:${one} urn:x`),
      ...numbers(80).flatMap((one) => [`a=ssrc-group:FID ${one} ${one}`, `a=candidate:1 1 udp ${one} ::1 9 typ host`]),
      ...numbers(10).map((one) => `a=rid:${one} send`),
      `a=simulcast:send ${numbers(10).join(';')}`,
    ])
    const { extensions, rtxPairs, candidates, rids } = media
    expect([extensions, rtxPairs, candidates, rids].map(({ length }) => length)).toEqual([32, 64, 64, 8])
    expect([extensions[31]?.id, rtxPairs[63]?.rtx, candidates[63]?.priority, rids[7]]).toEqual([32, 64, 64, '8'])
  })

  it('of another profile is neither audio nor video, and has no codecs', () => {
    const lines = ['m=audio 9 RTP/SAVPF 111', 'a=rtcp-mux', 'a=rtpmap:111 opus/48000/2']
    expect(mediaOf(lines)).toMatchObject({ kind: 'other', isOpen: true, direction: 'sendrecv', codecs: [] })
  })
})

describe('an offer is refused, with the reason,', () => {
  const [session = '', , video = ''] = publisher.split(/(?=m=)/)
  const many = (count: number) =>
    session.replace('BUNDLE 0 1', 'BUNDLE 0') +
    Array.from({ length: count }, (_, mid) => video.replace('a=mid:1', `a=mid:${mid}`)).join('')
  const fingerprinted = (change: (hash: string) => string) =>
    publisher.replaceAll(/(?<=a=fingerprint:\S+ )[\w:]+/g, change)
  const data = 'm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:0\r\na=ice-ufrag:abcd\r\n'

  it.each([
    ['without SDP', 400, 'not SDP', '{"sdp":1}'],
    ['without media', 400, 'no media', session],
    ['without BUNDLE', 400, 'no a=group:BUNDLE', publisher.replace('a=group:BUNDLE 0 1\r\n', '')],
    [
      'without a fingerprint',
      400,
      'no a=fingerprint; the session or m-line 1 needs one of sha-256',
      publisher.replace(/a=fingerprint.*\r\n/g, ''),
    ],
    ['with a weak fingerprint', 400, 'a malformed a=fingerprint', publisher.replaceAll('sha-256', 'sha-1')],
    ['with dashes in its fingerprint', 400, 'fingerprint', fingerprinted((hash) => hash.replaceAll(':', '-'))],
    ['with words after its fingerprint', 400, 'fingerprint', fingerprinted((hash) => `${hash} more`)],
    [
      'without ICE',
      400,
      'no a=ice-pwd; the session or m-line 1 needs one of 22 to 256',
      publisher.replace(/a=ice-pwd.*\r\n/g, ''),
    ],
    [
      'without rtcp-mux',
      400,
      'no a=rtcp-mux in m-line 2 (video)',
      publisher.replace(/a=rtcp-mux\r\n(?![^]*a=rtcp-mux)/, ''),
    ],
    [
      'that holds DTLS back',
      400,
      'must be actpass, active or passive',
      publisher.replaceAll('setup:actpass', 'setup:holdconn'),
    ],
    [
      'with the same mid twice',
      400,
      'of m-line 1 again in m-line 2',
      publisher.replace('a=mid:1', 'a=mid:0').replace('DLE 0 1', 'DLE 0'),
    ],
    ['with 17 m-lines', 400, 'after the 16', many(17)],
    ['with 1,000 m-lines', 400, 'after the 16', many(1000).slice(0, 130_000)],
    ['that is a book', 400, 'longer than 131072', many(1000)],
    ['with a line of 5,000 characters', 400, 'longer than 4096', `${publisher}a=x:${'y'.repeat(5000)}\r\n`],
    ['with 2,000 attributes', 400, 'after the 1000', `${publisher}${'a=x\r\n'.repeat(2000)}`],
    ['with a line of prose', 400, 'Line 2', 'v=0\r\nhello there\r\n'],
    ['with an empty BUNDLE', 400, 'BUNDLE in it that names', publisher.replace('BUNDLE 0 1', 'BUNDLE')],
    [
      'with another mid than is read',
      400,
      'a malformed a=mid in m-line 2; each needs one of 1 to 64 letters, digits',
      publisher.replaceAll('a=mid:1', 'a=mid:!'),
    ],
    ['with a malformed name', 400, 'a malformed a=ice-ufrag', publisher.replaceAll(/a=ice-ufrag:.*/g, 'a=ice-ufrag:a')],
    ['without mids', 400, 'no a=mid in m-line 1', publisher.replace(/a=mid.*\r\n/g, '')],
    [
      'with a malformed m-line',
      400,
      'a malformed m-line 2; it must be like "m=video 9',
      publisher.replace('m=video 9', 'm=video'),
    ],
    [
      'with a malformed password',
      400,
      'a malformed a=ice-pwd',
      publisher.replaceAll(/a=ice-pwd:.*/g, 'a=ice-pwd:short'),
    ],
    [
      'without DTLS',
      406,
      'must be UDP/TLS/RTP/SAVPF, but is RTP/AVP',
      publisher.replaceAll('UDP/TLS/RTP/SAVPF', 'RTP/AVP'),
    ],
    [
      'of data only',
      406,
      'data channel',
      `${session.replace('BUNDLE 0 1', 'BUNDLE 0')}${data}${
        video.match(/a=ice-pwd.*\r\na=ice-options.*\r\na=fingerprint.*\r\na=setup.*\r\n/)?.[0] ?? ''
      }`,
    ],
  ])('%s', (_, status, problem, text) => {
    expect(parseOffer(text)).toMatchObject({ ok: false, error: { status, problem: expect.stringContaining(problem) } })
  })

  it('may name its hash in capitals (RFC 8122 section 5), and for the whole session', () => {
    const text = publisher.replaceAll('sha-256', 'SHA-256')
    const [line = ''] = /a=fingerprint.*\r\n/.exec(text) ?? []
    const moved = text.replaceAll(line, '').replace('m=', `${line}m=`)
    expect([parseOffer(text).ok, parseOffer(moved).ok]).toEqual([true, true])
  })

  it('may have several certificates, and weak hashes of them, which count for nothing (RFC 8122 section 5)', () => {
    const lines = ['sha-1 AB', `sha-256 ${pairs(32)}`, `SHA-512 ${pairs(64)}`].map((hash) => `a=fingerprint:${hash}`)
    const { fingerprints } = read(publisher.replaceAll(/a=fingerprint.*/g, lines.join('\r\n')))
    expect(fingerprints).toEqual([
      { algorithm: 'sha-256', value: pairs(32) },
      { algorithm: 'sha-512', value: pairs(64) },
    ])
    const flood = read(publisher.replaceAll(/a=fingerprint.*/g, Array(50).fill(lines[1]).join('\r\n')))
    expect(flood.fingerprints).toHaveLength(8)
  })

  it('takes 16 m-lines, and answers one of each kind', () => {
    const offer = read(many(16).replace(/BUNDLE 0/, `BUNDLE ${Array.from({ length: 16 }, (_, mid) => mid).join(' ')}`))
    expect(planned(planPublish(offer, null)).filter((chosen) => chosen !== null)).toHaveLength(1)
  })
})
