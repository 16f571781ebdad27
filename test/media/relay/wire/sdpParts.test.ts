import { describe, expect, it } from 'vitest'
import { candidateLines, parseCandidate } from '../../../../src/media/relay/wire/sdp/candidate.ts'
import { attributesOf, first, has, readSections } from '../../../../src/media/relay/wire/sdp/lines.ts'
import { type OfferedMedia, readMedia } from '../../../../src/media/relay/wire/sdp/media.ts'
import { parseOffer } from '../../../../src/media/relay/wire/sdp/offer.ts'
import { planPublish, planView } from '../../../../src/media/relay/wire/sdp/plan.ts'

const FINGERPRINT = Array.from({ length: 32 }, () => 'ab').join(':')
const HEAD = [
  'v=0',
  'a=group:BUNDLE 0',
  'a=ice-ufrag:abcd',
  'a=ice-pwd:abcdefghijklmnopqrstuv',
  `a=fingerprint:sha-256 ${FINGERPRINT}`,
]
const VIDEO = ['m=video 9 UDP/TLS/RTP/SAVPF 96 97', 'a=mid:0', 'a=rtcp-mux']
const VP8 = [...VIDEO, 'a=rtpmap:96 VP8/90000', 'a=rtpmap:97 rtx/90000', 'a=fmtp:97 apt=96']
const offered = (...lines: string[]) => parseOffer([...lines, ''].join('\r\n'))
const problemOf = (...lines: string[]): string | null => {
  const offer = offered(...lines)
  return offer.ok ? null : `${offer.error.status} ${offer.error.problem}`
}
const mediaOf = (lines: readonly string[], isBundled = true): OfferedMedia => {
  const sections = readSections(lines.join('\n'))
  const read = sections.ok && sections.value.media[0] ? readMedia(sections.value.media[0], isBundled) : null
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
    ['one more', 'a=x\n'.repeat(400).padEnd(131_073, '\n'), 'The SDP is longer than 131072 characters.'],
    ['a line of 4096', `a=${'x'.repeat(4094)}`, null],
    ['a longer line', `v=0\na=${'x'.repeat(4095)}`, 'Line 2 of the SDP is longer than 4096 characters.'],
    ['1000 attributes', 'a=x\n'.repeat(1000), null],
    [
      'one more attribute',
      'a=x\n'.repeat(1001),
      'Line 1001 of the SDP is the attribute after the 1000 that are allowed.',
    ],
    ['1000 in each section', `${'a=x\n'.repeat(1000)}m=a\n${'a=x\n'.repeat(1000)}`, null],
    ['16 m-lines', 'm=a\n'.repeat(16), null],
    ['17 m-lines', 'm=a\n'.repeat(17), 'Line 17 of the SDP is the m-line after the 16 that are allowed.'],
    ['no letter', '1=x', 'Line 1 of the SDP is not of the form <letter>=<value>.'],
    ['two letters', 'ab=x', 'Line 1 of the SDP is not of the form <letter>=<value>.'],
    ['a letter alone', 'a', 'Line 1 of the SDP is not of the form <letter>=<value>.'],
  ])('of %s are taken, or refused with the place', (_, text, problem) => {
    const read = readSections(text)
    expect(read.ok ? null : read.error.problem).toBe(problem)
  })
})

describe('a candidate', () => {
  it.each([
    [
      '1 1 udp 4294967295 192.0.2.1 65535 typ host',
      { transport: 'udp', priority: 4_294_967_295, port: 65_535, type: 'host', tcpType: null },
    ],
    [
      '1 1 UDP 5 host.local 0 typ SRFLX raddr 0.0.0.0',
      { transport: 'udp', address: 'host.local', port: 0, type: 'srflx' },
    ],
    [
      '1 1 tcp 5 ::1 9 typ relay tcptype active',
      { transport: 'tcp', address: '::1', type: 'relay', tcpType: 'active' },
    ],
    ['1 1 tcp 5 ::1 9 typ prflx raddr x tcptype so generation 0', { type: 'prflx', tcpType: 'so' }],
    ['1 1 udp 5 ::1 9 typ host tcptype passive', { transport: 'udp', tcpType: null }],
    ['1 1 tcp 5 ::1 9 typ host', null],
    ['1 1 tcp 5 ::1 9 typ host xtcptype passive', null],
    ['1 1 tcp 5 ::1 9 typ host tcptype passively', null],
    ['1 2 udp 5 ::1 9 typ host', null],
    ['1 1 udp 4294967296 ::1 9 typ host', null],
    ['1 1 udp 5 ::1 65536 typ host', null],
    ['1 1 dccp 5 ::1 9 typ host', null],
    ['1 1 udp 5 ::1 9 typ other', null],
    ['nonsense', null],
  ])('%s', (text, expected) => {
    if (expected === null) expect(parseCandidate(text)).toBeNull()
    else expect(parseCandidate(text)).toMatchObject(expected)
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
      'a=msid:stream track',
      'a=candidate:1 1 udp 5 ::1 9 typ host',
      'a=candidate:nonsense',
      ...['1 urn:one', '255/sendonly urn:two', '0 urn:no', '256 urn:no', '7/inactive urn:no', 'x urn:no', '3'].map(
        (one) => `a=extmap:${one}`,
      ),
      ...['5 cname:x', '5 msid:y', '4294967295', '4294967296', 'x', '12345678901'].map((one) => `a=ssrc:${one}`),
      ...['FID 1 2', 'SIM 1 2', 'FID 1', 'FID 1 x', 'FID x 1', 'FID 4294967296 1'].map((one) => `a=ssrc-group:${one}`),
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
      msid: 'stream track',
      reducedSize: true,
      candidates: [{ address: '::1' }],
      extensions: [
        { id: 1, uri: 'urn:one' },
        { id: 255, uri: 'urn:two' },
      ],
      ssrcs: [5, 4_294_967_295],
      rtxPairs: [{ media: 1, rtx: 2 }],
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
      ...numbers(80).flatMap((one) => [
        `a=ssrc:${one}`,
        `a=ssrc-group:FID ${one} ${one}`,
        `a=candidate:1 1 udp ${one} ::1 9 typ host`,
      ]),
      ...numbers(10).map((one) => `a=rid:${one} send`),
      `a=simulcast:send ${numbers(10).join(';')}`,
    ])
    const { extensions, ssrcs, rtxPairs, candidates, rids } = media
    expect([extensions, ssrcs, rtxPairs, candidates, rids].map(({ length }) => length)).toEqual([32, 64, 64, 64, 8])
    expect([extensions[31]?.id, ssrcs[63], rtxPairs[63]?.rtx, candidates[63]?.priority, rids[7]]).toEqual([
      32,
      64,
      64,
      64,
      '8',
    ])
  })

  it.each([
    ['m=audio 9 TCP/TLS/RTP/SAVPF 111', 'audio', true],
    ['m=audio 9 RTP/SAVPF 111', 'other', true],
    ['m=application 9 UDP/TLS/RTP/SAVPF 111', 'other', true],
    ['m=video 0 UDP/TLS/RTP/SAVPF 96', 'video', false],
  ])('%s is %s, and open: %s', (line, kind, isOpen) => {
    const media = mediaOf([line, 'a=rtcp-mux', 'a=rtpmap:111 opus/48000/2'])
    expect([media.kind, media.isOpen, media.direction]).toEqual([kind, isOpen, 'sendrecv'])
    expect(media.codecs).toHaveLength(kind === 'audio' ? 1 : 0)
    expect(mediaOf([line, 'a=rtcp-mux'], false).isOpen).toBe(false)
    expect(mediaOf([line, 'a=rtcp-mux', 'a=bundle-only']).isOpen).toBe(true)
  })
})

describe('an offer', () => {
  it.each<[string, readonly string[], string | null]>([
    ['whole', [...HEAD, ...VP8], null],
    ['without v=0', ['v=1', ...HEAD.slice(1), ...VP8], '400 The body is not SDP: it does not begin with v=0.'],
    ['without media', HEAD, '400 The offer has no media: there is no m-line in it.'],
    [
      'without a bundle',
      ['v=0', ...HEAD.slice(2), ...VP8],
      '400 The offer must bundle its media: there is no a=group:BUNDLE in it that names m-lines.',
    ],
    [
      'with an empty bundle',
      ['v=0', 'a=group:BUNDLE', ...HEAD.slice(2), ...VP8],
      '400 The offer must bundle its media: there is no a=group:BUNDLE in it that names m-lines.',
    ],
    [
      'with another group before the bundle',
      ['v=0', 'a=group:LS 0', 'a=group:BUNDLE 0', ...HEAD.slice(2), ...VP8],
      null,
    ],
    [
      'with a bundle of a line that is not there',
      ['v=0', 'a=group:BUNDLE 0 7', ...HEAD.slice(2), ...VP8],
      '400 The BUNDLE group names 7, which no m-line has.',
    ],
    ['with two lines of one mid', [...HEAD, ...VP8, ...VP8], '400 Two m-lines of the offer have the same a=mid.'],
    ['with setup:active', [...HEAD, ...VP8, 'a=setup:active'], null],
    ['with setup:actpass', [...HEAD, 'a=setup:actpass', ...VP8], null],
    [
      'with setup:passive',
      [...HEAD, 'a=setup:passive', ...VP8],
      '400 The offer must have a=setup:actpass or a=setup:active.',
    ],
    [
      'without rtcp-mux',
      [...HEAD, ...VP8.filter((line) => line !== 'a=rtcp-mux')],
      '400 The m-line of mid 0 must have a=rtcp-mux.',
    ],
    [
      'with a data channel alone',
      [...HEAD, 'm=application 9 UDP/DTLS/SCTP webrtc-datachannel', 'a=mid:0'],
      '406 The offer has neither audio nor video; a data channel alone is not served.',
    ],
    [
      'with plain RTP',
      [...HEAD, 'm=video 9 RTP/AVP 96', 'a=mid:0'],
      '406 The video of the offer must be UDP/TLS/RTP/SAVPF, but is RTP/AVP.',
    ],
    ['with plain RTP that is switched off', [...HEAD, ...VP8, 'm=video 0 RTP/AVP 96', 'a=mid:1'], null],
  ])('%s is read, or refused with the reason', (_, lines, problem) => expect(problemOf(...lines)).toBe(problem))

  it.each<[string, boolean]>([
    [`sha-256 ${FINGERPRINT}`, true],
    [`SHA-256 ${FINGERPRINT.toUpperCase()}`, true],
    [`sha-384 ${Array(48).fill('0f').join(':')}`, true],
    [`sha-512 ${Array(64).fill('0f').join(':')}`, true],
    [`sha-512 ${Array(65).fill('0f').join(':')}`, false],
    [`sha-256 ${FINGERPRINT}:ab`, false],
    [`sha-256 ${FINGERPRINT} more`, false],
    [`sha-256 ${FINGERPRINT.replace('ab', 'xy')}`, false],
    [`sha-256 ${FINGERPRINT.replaceAll(':', '-')}`, false],
    [`sha-1 ${Array(20).fill('0f').join(':')}`, false],
    ['sha-256', false],
  ])('with the fingerprint %s is taken: %s', (hash, isTaken) => {
    const head = HEAD.slice(0, 4)
    expect(offered(...head, ...VP8, `a=fingerprint:${hash}`).ok).toBe(isTaken)
    const second = offered(...head, `a=fingerprint:${hash}`, `a=fingerprint:sha-256 ${FINGERPRINT}`, ...VP8)
    expect(second.ok).toBe(true)
  })

  it.each<[string, string, boolean]>([
    ['abcd', 'a'.repeat(22), true],
    ['a'.repeat(256), '+/'.repeat(128), true],
    ['abc', 'a'.repeat(22), false],
    ['a'.repeat(257), 'a'.repeat(22), false],
    ['abcd', 'a'.repeat(21), false],
    ['abcd', 'a'.repeat(257), false],
    ['ab-d', 'a'.repeat(22), false],
  ])('with the credentials %s and %s is taken: %s', (ufrag, pwd, isTaken) => {
    const head = ['v=0', 'a=group:BUNDLE 0', `a=fingerprint:sha-256 ${FINGERPRINT}`]
    expect(offered(...head, `a=ice-ufrag:${ufrag}`, `a=ice-pwd:${pwd}`, ...VP8).ok).toBe(isTaken)
    const offer = offered(...HEAD, ...VP8, `a=ice-ufrag:${ufrag}`, `a=ice-pwd:${pwd}`)
    expect(offer.ok && offer.value.iceUfrag === ufrag && offer.value.icePwd === pwd).toBe(isTaken)
  })

  it('needs its video served if it sends video or asks for a codec, and its audio otherwise', () => {
    const plan = (wanted: 'vp8' | 'vp9' | null, ...lines: string[]) => {
      const offer = offered(...HEAD.map((line) => line.replace('BUNDLE 0', 'BUNDLE 0 1')), ...lines)
      if (!offer.ok) throw new Error(offer.error.problem)
      const planned = planPublish(offer.value, wanted)
      return planned.ok ? planned.value.map((one) => one?.name ?? null) : planned.error.status
    }
    const audio = ['m=audio 9 UDP/TLS/RTP/SAVPF 111', 'a=mid:1', 'a=rtcp-mux', 'a=rtpmap:111 opus/48000/2']
    const mono = audio.map((line) => line.replace('48000/2', '48000'))
    const deaf = VP8.map((line) => line.replace('VP8', 'H266'))
    expect(plan(null, ...VP8, ...audio)).toEqual(['vp8', 'opus'])
    expect(plan(null, ...VP8, ...mono)).toEqual(['vp8', null])
    expect(plan(null, ...deaf, ...audio)).toBe(406)
    expect(plan(null, ...deaf, 'a=recvonly', ...audio)).toEqual([null, 'opus'])
    expect(plan('vp9', ...deaf, 'a=recvonly', ...audio)).toBe(406)
    expect(plan('vp8', ...VP8, ...audio)).toEqual(['vp8', 'opus'])
    expect(plan('vp9', ...VP8, ...audio)).toBe(406)
    expect(plan(null, ...deaf, 'a=inactive', ...mono)).toBe(406)
  })

  it('of a viewer gets the first line of each kind that takes it', () => {
    const offer = offered(
      ...HEAD.map((line) => line.replace('BUNDLE 0', 'BUNDLE 0 1 2')),
      ...VP8.map((line) => line.replace('VP8', 'AV1')),
      ...VP8.map((line) => line.replace('mid:0', 'mid:1')),
      ...VP8.map((line) => line.replace('mid:0', 'mid:2')),
    )
    if (!offer.ok) throw new Error(offer.error.problem)
    const wanted = { video: { codec: 'vp8', profileLevelId: null }, audio: null } as const
    const plan = planView(offer.value, wanted)
    expect(plan.ok && plan.value.map((one) => one?.rtxPayloadType ?? null)).toEqual([null, 97, null])
    expect(planView(offer.value, { video: null, audio: wanted.video }).ok).toBe(false)
  })
})
