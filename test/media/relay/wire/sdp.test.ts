import { describe, expect, it } from 'vitest'
import { idleAnswer } from '../../../../src/media/relay/negotiation.ts'
import { type AnsweredMedia, buildAnswer, EXTENSION, extensionId } from '../../../../src/media/relay/wire/sdp/answer.ts'
import { type SdpPlan, planPublish, planView } from '../../../../src/media/relay/wire/sdp/plan.ts'
import { load, planned, read } from './offers.ts'

const transport = {
  iceUfrag: 'ours',
  icePwd: 'password-of-at-least-22',
  fingerprint: Array.from({ length: 32 }, () => 'AB').join(':'),
  sdpId: '12345',
  hosts: [
    { transport: 'udp', address: '192.0.2.1', port: 5000 },
    { transport: 'udp', address: '2001:db8::1', port: 5000 },
    { transport: 'tcp', address: '192.0.2.1', port: 5001 },
  ],
  transportCc: true,
} as const

const publisher = load('browser-publish')
const viewer = load('browser-view')
const simulcast = load('browser-simulcast')
const gstreamer = load('gstreamer-view')

const received = (plan: SdpPlan, rids: readonly string[] = []): AnsweredMedia[] =>
  plan.map((chosen) => (chosen === null ? null : { direction: 'recvonly', chosen, rids }))

describe("a browser's offer to publish", () => {
  const offer = read(publisher)

  it('is read whole', () => {
    expect(offer.media.map(({ kind, mid, direction, isOpen }) => [kind, mid, direction, isOpen])).toEqual([
      ['audio', '0', 'sendonly', true],
      ['video', '1', 'sendonly', true],
    ])
    const value = expect.stringMatching(/^(..:){31}..$/)
    expect(offer.fingerprints).toEqual([{ algorithm: 'sha-256', value }])
    const [audio, video] = offer.media
    expect(audio?.codecs[0]).toMatchObject({ payloadType: 111, name: 'opus', clockRate: 48000, channels: 2 })
    expect(audio?.codecs[0]?.fmtp.get('minptime')).toBe('10')
    expect(video?.codecs[0]?.feedback).toEqual(['goog-remb', 'transport-cc', 'ccm fir', 'nack', 'nack pli'])
    expect(video?.rtxPairs).toEqual([{ media: 2394981506, rtx: 2136920456 }])
    expect(video !== undefined && extensionId(video, EXTENSION.transportCc)).toBeGreaterThan(0)
  })

  it('gets its first codec, or the one that is wanted', () => {
    expect(planned(planPublish(offer, null)).map((chosen) => chosen?.name)).toEqual(['opus', 'vp8'])
    expect(planned(planPublish(offer, 'vp9')).map((chosen) => chosen?.name)).toEqual(['opus', 'vp9'])
    const [, h264] = planned(planPublish(offer, 'h264'))
    expect(h264?.codec.fmtpText).toBe('level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f')
    expect(h264?.rtxPayloadType).toBe((h264?.codec.payloadType ?? 0) + 1)
  })

  it('is answered line for line', () => {
    const answer = buildAnswer(offer, transport, received(planned(planPublish(offer, 'h264'))))
    const [session = '', audio = '', video = ''] = answer.split('m=')
    expect(session).toContain('a=ice-lite\r\na=group:BUNDLE 0 1\r\n')
    expect(audio).toMatch(/^audio 9 UDP\/TLS\/RTP\/SAVPF 111\r\n/)
    expect(audio).toContain('a=rtpmap:111 opus/48000/2\r\na=fmtp:111 minptime=10;useinbandfec=1\r\n')
    expect(audio).toContain('a=candidate:1 1 udp 2130706431 192.0.2.1 5000 typ host\r\n')
    expect(audio).toContain('a=candidate:2 1 udp 2130706175 2001:db8::1 5000 typ host\r\n')
    expect(audio).toMatch(/a=candidate:3 1 tcp \d+ 192.0.2.1 5001 typ host tcptype passive\r\na=end-of-candidates/)
    expect(video).not.toContain('candidate')
    for (const line of ['a=recvonly', 'a=setup:passive', 'a=rtcp-mux', 'a=ice-ufrag:ours']) {
      expect(video.split('\r\n')).toContain(line)
    }
    expect(video).toMatch(/a=rtcp-fb:(\d+) transport-cc\r\na=rtpmap:(\d+) rtx\/90000\r\na=fmtp:\2 apt=\1\r\n/)
    expect(video).toContain(EXTENSION.transportCc)
    expect(video).not.toContain('playout-delay')
  })

  it('hears nothing of transport-wide feedback where that is off', () => {
    const answers = received(planned(planPublish(offer, null)))
    expect(buildAnswer(offer, { ...transport, transportCc: false }, answers)).not.toMatch(/transport-(cc|wide)/)
  })

  it('gets the layers of simulcast that are taken', () => {
    const layered = read(simulcast)
    expect(layered.media[0]?.rids).toEqual(['h', 'm', 'l'])
    const answer = buildAnswer(layered, transport, received(planned(planPublish(layered, null)), ['h', 'l']))
    expect(answer).toContain('a=rid:h recv\r\na=rid:l recv\r\na=simulcast:recv h;l\r\n')
  })

  it('is refused when it is one to view', () => {
    expect(planPublish(read(viewer), null)).toMatchObject({ ok: false, error: { status: 406 } })
  })
})

describe("a browser's offer to view", () => {
  const offer = read(viewer)
  const wanted = {
    video: { codec: 'h264', profile: '42c01f' },
    audio: { codec: 'opus', profile: null },
  } as const

  it('gets the profile that is sent, and its data channel rejected', () => {
    const plan = planned(planView(offer, wanted))
    expect(plan.map((chosen) => chosen?.codec.fmtp.get('profile-level-id') ?? chosen?.name)).toEqual([
      '42e01f',
      'opus',
      undefined,
    ])
    const sent = { direction: 'sendonly', cname: 'c', streamId: 's', trackId: 't' } as const
    const answers = plan.map(
      (chosen, at) => chosen && { ...sent, chosen, ssrc: at + 10, rtxSsrc: at === 0 ? 20 : null },
    )
    const [, video = '', audio = '', data = ''] = buildAnswer(offer, transport, answers).split('m=')
    expect(video).toContain('a=msid:s t\r\na=ssrc-group:FID 10 20\r\na=ssrc:10 cname:c\r\na=ssrc:20 cname:c\r\n')
    expect(audio).toContain('a=sendonly')
    expect(data).toMatch(
      /^application 0 UDP\/DTLS\/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\na=inactive\r\na=mid:2\r\n/,
    )
    // aiortc reads these of every line, of a rejected one too.
    expect(data).toMatch(
      /a=ice-ufrag:ours\r\na=ice-pwd:.*\r\na=ice-options:.*\r\na=fingerprint:.*\r\na=setup:passive\r\n$/,
    )
  })

  it('gets the line of a medium that the stream does not have accepted, with nothing on it', () => {
    const tracks = { video: null, audio: wanted.audio }
    const [chosen, audio] = planned(planView(offer, tracks))
    expect([chosen, audio?.name]).toEqual([null, 'opus'])
    const [video, , data] = offer.media.map((media) => idleAnswer(media, tracks))
    expect(data).toBeNull()
    const sent = { direction: 'sendonly', cname: 'c', streamId: 's', trackId: 't', ssrc: 1, rtxSsrc: null } as const
    const answer = buildAnswer(offer, transport, [video ?? null, audio ? { ...sent, chosen: audio } : null, null])
    expect(answer).toContain('a=group:BUNDLE 0 1\r\n')
    expect(answer.split('m=')[1]).toMatch(/^video 9 [^]*a=inactive[^]*a=rtpmap:\d+ VP8\/90000[^]*a=candidate/)
    expect(answer.split('m=')[1]).not.toContain('ssrc')
  })

  it('has no payload type for retransmissions that are not sent', () => {
    const [chosen] = planned(planView(offer, { video: wanted.video, audio: null }))
    const sent = { direction: 'sendonly', cname: 'c', streamId: 's', trackId: 't', ssrc: 1, rtxSsrc: null } as const
    const answer = buildAnswer(offer, transport, chosen ? [{ ...sent, chosen }, null, null] : [])
    expect(answer).not.toMatch(/rtx|FID/)
    expect(answer).toContain('a=group:BUNDLE 0\r\n')
  })

  it.each([
    ['42001f', '42001f'],
    ['42e034', '42e01f'],
    ['4d001f', '4d001f'],
  ])('takes H.264 %s as %s', (profile, answered) => {
    const plan = planned(planView(offer, { video: { codec: 'h264', profile }, audio: null }))
    expect(plan[0]?.codec.fmtp.get('profile-level-id')).toBe(answered)
    expect(plan[0]?.codec.fmtp.get('packetization-mode')).toBe('1')
  })

  it('is refused when it requests video and supports none of the codecs: black video with audio gives no reason', () => {
    const blind = read(viewer.replaceAll('H264/90000', 'H266/90000'))
    expect(planView(blind, wanted)).toEqual({
      ok: false,
      error: {
        status: 406,
        problem:
          "The stream's video is H264, which the offer does not receive. To receive the audio only, omit the video.",
      },
    })
    const deaf = read(viewer.replaceAll('H264/90000', 'H266/90000').replace(/(m=video[^]*?)a=recvonly/, '$1a=inactive'))
    expect(planned(planView(deaf, wanted)).map((chosen) => chosen?.name)).toEqual([undefined, 'opus', undefined])
  })
})

describe('H.264 and its packetization mode', () => {
  const video = { codec: 'h264', profile: '42c01f' } as const
  const offered = (text: string) => planned(planView(read(text), { video, audio: null }))[0]?.codec
  const mode0 = viewer.replaceAll('packetization-mode=1', 'packetization-mode=0')

  it("a viewer that names none, as GStreamer's caps do, is served as it offered (RFC 6184 section 8.2.2)", () => {
    expect(offered(gstreamer)).toMatchObject({ payloadType: 96, fmtpText: '' })
    expect(planned(planView(read(gstreamer), { video, audio: { codec: 'opus', profile: null } }))).toHaveLength(2)
  })

  it('a viewer that offers both is served the format that names mode 1, whatever comes first', () => {
    const unnamedFirst = viewer
      .replaceAll('packetization-mode=1;', '')
      .replaceAll('packetization-mode=0', 'packetization-mode=1')
    expect(offered(unnamedFirst)?.fmtp.get('packetization-mode')).toBe('1')
  })

  it('a viewer that says 0 or 2 is believed', () => {
    for (const mode of ['0', '2']) {
      const plan = planView(read(mode0.replaceAll('mode=0', `mode=${mode}`)), { video, audio: null })
      expect(plan).toMatchObject({
        ok: false,
        error: {
          problem: `The stream's video is H264; the offer receives H264 with packetization-mode=${mode}, and only packetization-mode=1 is served.`,
        },
      })
    }
  })

  it.each([
    ['0', publisher.replaceAll('packetization-mode=1', 'packetization-mode=0')],
    ['none', publisher.replaceAll(/packetization-mode=.;/g, '')],
  ])('a publisher of mode %s is taken: single NAL units are read as well', (_, text) => {
    expect(planned(planPublish(read(text), 'h264')).map((chosen) => chosen?.name)).toEqual(['opus', 'h264'])
  })
})

describe('the text of a 406 names the real reason:', () => {
  const opus = { codec: 'opus', profile: null } as const
  const track = (codec: 'h264' | 'vp8' | 'vp9' | 'av1' | 'hevc') => ({ codec, profile: null })
  const both = { video: track('vp8'), audio: opus }
  const only = (text: string, kind: 'audio' | 'video') =>
    text.replace(new RegExp(`(m=${kind === 'audio' ? 'video' : 'audio'}[^]*?)a=(?:recv|send)only`), '$1a=inactive')
  const closed = (text: string) => text.replaceAll(/m=(audio|video) 9/g, 'm=$1 0')
  /** The video has this codec alone, with these parameters. */
  const video = (text: string, codec: string, fmtp = '') =>
    text.replace(/m=video[^]*?(?=m=|$)/, (section) =>
      [
        section.replace(/^(m=video \d+ \S+).*/, '$1 96').replaceAll(/a=(rtpmap|fmtp|rtcp-fb):.*\r\n/g, ''),
        `a=rtpmap:96 ${codec}\r\n`,
        fmtp === '' ? '' : `a=fmtp:96 ${fmtp}\r\n`,
      ].join(''),
    )
  const slow = (text: string) => text.replaceAll('opus/48000/2', 'opus/44100/2')
  const speex = (text: string) =>
    text
      .replaceAll(/a=rtpmap:(0|8) .*\r\n/g, '')
      .replaceAll(/(m=audio.*?) 0\b/g, '$1')
      .replaceAll(/(m=audio.*?) 8\b/g, '$1')
      .replaceAll('opus/', 'speex/')
  const NOT_SERVED = expect.stringMatching(
    /^The offer sends audio as SPEEX.*, which is not served; send Opus, PCMA or PCMU\.$/,
  ) as string
  const CLOSED = 'its audio and video are switched off (port 0) or outside of its BUNDLE group.'
  const WITHOUT = 'To receive the audio only, omit the video.'

  it.each([
    ['only sends', publisher, both, 'The offer receives nothing: no audio or video of it is recvonly or sendrecv.'],
    ['is switched off', closed(viewer), both, `The offer receives nothing: ${CLOSED}`],
    [
      'of a stream without media',
      viewer,
      { video: null, audio: null },
      'The stream has no audio or video that WebRTC can carry.',
    ],
    [
      'has another codec',
      video(viewer, 'H265/90000'),
      both,
      `The stream's video is VP8, which the offer does not receive. ${WITHOUT}`,
    ],
    [
      'has neither codec',
      slow(video(viewer, 'H265/90000')),
      both,
      "The stream's video is VP8, which the offer does not receive. " +
        "The stream's audio is Opus; the offer receives Opus with 44100/2, and only 48000/2 is served.",
    ],
    [
      'has video alone, of another codec',
      only(video(viewer, 'H265/90000'), 'video'),
      both,
      "The stream's video is VP8, which the offer does not receive. The stream's audio is Opus, and the offer does not ask for audio.",
    ],
    [
      'has the codec in another profile',
      video(viewer, 'VP9/90000', 'profile-id=2'),
      { video: track('vp9'), audio: opus },
      `The stream's video is VP9; the offer receives VP9 with profile-id=2, and only profile-id=0 is served. ${WITHOUT}`,
    ],
    [
      'lacks a codec that not all browsers have',
      viewer,
      { video: track('hevc'), audio: opus },
      "The stream's video is HEVC, which the offer does not receive. Browsers that do: Safari from version 18 on, and " +
        `Chrome and Edge from 136 on where the device has a decoder. ${WITHOUT}`,
    ],
    [
      'has HEVC with 8 bits only',
      video(viewer, 'H265/90000', 'profile-id=1;tier-flag=0;level-id=93;tx-mode=SRST'),
      { video: { codec: 'hevc' as const, profile: '2' }, audio: opus },
      "The stream's video is HEVC with 10 bits, which the offer does not receive. Browsers that do: Safari from version 18 " +
        `on, and Chrome and Edge from 136 on where the device has a decoder. ${WITHOUT}`,
    ],
    [
      'has the codec with another clock',
      video(viewer, 'VP8/1000'),
      both,
      `The stream's video is VP8; the offer receives VP8 with a clock rate of 1000, and only a clock rate of 90000 is served. ${WITHOUT}`,
    ],
    [
      'asks for audio of a stream without',
      only(viewer, 'audio'),
      { video: track('av1'), audio: null },
      "The stream's video is AV1, and the offer does not ask for video.",
    ],
    [
      'asks for video of a stream without',
      only(viewer, 'video'),
      { video: null, audio: opus },
      "The stream's audio is Opus, and the offer does not ask for audio.",
    ],
  ])('an offer to view that %s', (_, text, tracks, problem) => {
    expect(planView(read(text), tracks)).toEqual({ ok: false, error: { status: 406, problem } })
  })

  it.each([
    ['only receives', viewer, null, 'The offer sends nothing: no audio or video of it is sendonly or sendrecv.'],
    ['is switched off', closed(publisher), null, `The offer sends nothing: ${CLOSED}`],
    [
      'does not have the codec that was asked for',
      video(publisher, 'VP8/90000'),
      'vp9',
      'The offer does not send VP9 video.',
    ],
    [
      'has no video, where a codec was asked for',
      only(publisher, 'audio'),
      'h264',
      'The offer does not send H264 video.',
    ],
    [
      'has the codec that was asked for in another format',
      video(publisher, 'H264/90000', 'packetization-mode=2'),
      'h264',
      'The offer sends H264 with packetization-mode=2, and only packetization-mode=1 or 0 is served.',
    ],
    [
      'has the codec in another profile',
      video(publisher, 'AV1/90000', 'profile=1'),
      null,
      'The offer sends AV1 with profile=1, and only profile=0 is served.',
    ],
    [
      'has no video codec that is known, beside its audio',
      video(publisher, 'H266/90000'),
      null,
      'The offer sends video as H266, which is not served; send H264, VP8, VP9, AV1 or HEVC.',
    ],
    ['has no audio codec that is known', only(speex(publisher), 'audio'), null, NOT_SERVED],
    ['has no audio codec that is known, beside its video', speex(publisher), null, NOT_SERVED],
  ] as const)('an offer to publish that %s', (_, text, wanted, problem) => {
    expect(planPublish(read(text), wanted)).toEqual({ ok: false, error: { status: 406, problem } })
  })
})
