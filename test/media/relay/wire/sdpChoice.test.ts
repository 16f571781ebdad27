import { describe, expect, it } from 'vitest'
import { chooseForPublisher, chooseForViewer, chooseIdle } from '../../../../src/media/relay/wire/sdp/choose.ts'
import { codecNameOf, formatProblem } from '../../../../src/media/relay/wire/sdp/format.ts'
import { readSections } from '../../../../src/media/relay/wire/sdp/lines.ts'
import { type OfferedMedia, readMedia } from '../../../../src/media/relay/wire/sdp/media.ts'
import type { SdpOffer } from '../../../../src/media/relay/wire/sdp/offer.ts'
import { planView } from '../../../../src/media/relay/wire/sdp/plan.ts'

const VIDEO = ['m=video 9 UDP/TLS/RTP/SAVPF 96 97', 'a=mid:0', 'a=rtcp-mux']
const VP8 = [...VIDEO, 'a=rtpmap:96 VP8/90000', 'a=rtpmap:97 rtx/90000', 'a=fmtp:97 apt=96']
const mediaOf = (lines: readonly string[], isBundled = true): OfferedMedia => {
  const sections = readSections(lines.join('\n'))
  const read = sections.ok && sections.value.media[0] ? readMedia(sections.value.media[0], isBundled) : null
  if (!read?.ok) throw new Error('it cannot be read')
  return read.value
}

describe('of several formats of H.264', () => {
  const with264 = (...formats: (string | null)[]): OfferedMedia =>
    mediaOf([
      `m=video 9 UDP/TLS/RTP/SAVPF ${formats.map((_, at) => 100 + at).join(' ')}`,
      'a=rtcp-mux',
      ...formats.flatMap((format, at) => [
        `a=rtpmap:${100 + at} H264/90000`,
        ...(format === null ? [] : [`a=fmtp:${100 + at} ${format}`]),
      ]),
    ])
  const MODE = 'packetization-mode=1;profile-level-id='
  const forViewer = (sent: string | null, ...ids: string[]) =>
    (chooseForViewer(with264(...ids.map((id) => MODE + id)), { codec: 'h264', profile: sent })?.codec.payloadType ??
      0) - 100
  const forPublisher = (...formats: (string | null)[]) =>
    (chooseForPublisher(with264(...formats), null)?.codec.payloadType ?? 0) - 100

  it.each<[sent: string | null, offered: string[], chosen: number]>([
    ['42e01f', ['640032', '4d0032', '42e01f'], 2],
    ['42e01f', ['640032', '4d0032', '420032'], 2],
    ['42e01f', ['640032', '4d0032'], 1],
    ['42e01f', ['f40032', '640032'], 1],
    ['4d001f', ['42e01f', '640032', '4d0032'], 2],
    ['4d001f', ['42e01f', '640032'], 1],
    ['64001f', ['42e01f', '4d0032', '640032'], 2],
    ['42001f', ['42e01f', '640032', '420032'], 2],
    ['4d801f', ['420032', '42e01f'], 1],
    ['58c01f', ['420032', '42e01f'], 1],
    ['58801f', ['42e01f', '588032'], 1],
    ['58401f', ['42e01f', '588032'], 1],
    ['xxxxxx', ['42e01f', 'yyyyyy'], 1],
    [null, ['640032', '42e01f'], 0],
    ['f4001f', ['640032', '42e01f'], 0],
  ])('a viewer of %s that offers %j gets number %d', (sent, ids, chosen) =>
    expect(forViewer(sent, ...ids)).toBe(chosen),
  )

  it('a publisher is asked for constrained baseline in mode 1', () => {
    expect(forPublisher(`${MODE}640032`, `${MODE}42e01f`)).toBe(1)
    expect(forPublisher('packetization-mode=0;profile-level-id=42e01f', `${MODE}640032`)).toBe(1)
    expect(forPublisher(null, 'packetization-mode=0;profile-level-id=42e01f')).toBe(1)
    expect(forPublisher(`${MODE}42001f`, `${MODE}4d801f`)).toBe(1)
    const vp8 = mediaOf([...VP8, 'a=recvonly'])
    expect([chooseForPublisher(vp8, null), chooseForPublisher(mediaOf(VP8, false), null)]).toEqual([null, null])
    expect(chooseForPublisher(mediaOf([...VP8, 'a=sendonly']), null)).toMatchObject({ name: 'vp8', rtxPayloadType: 97 })
  })

  it('a line of a medium that the stream does not have is accepted as it is', () => {
    const none = { video: null, audio: null }
    const wanted = { codec: 'vp8', profile: null } as const
    expect(chooseIdle(mediaOf(VP8), none)).toMatchObject({ name: 'vp8' })
    expect(chooseIdle(mediaOf(VP8), { video: wanted, audio: null })).toBeNull()
    expect(chooseIdle(mediaOf([...VP8, 'a=sendonly']), none)).toBeNull()
    expect(chooseIdle(mediaOf(VP8, false), none)).toBeNull()
    expect(chooseForViewer(mediaOf([...VP8, 'a=sendonly']), wanted)).toBeNull()
    expect(chooseForViewer(mediaOf([...VP8, 'a=recvonly']), wanted)).toMatchObject({ name: 'vp8' })
  })
})

describe('HEVC', () => {
  const withHevc = (...profiles: (string | null)[]): OfferedMedia =>
    mediaOf([
      `m=video 9 UDP/TLS/RTP/SAVPF ${profiles.map((_, at) => 100 + at).join(' ')} 99`,
      'a=rtcp-mux',
      ...profiles.flatMap((profile, at) => [
        `a=rtpmap:${100 + at} H265/90000`,
        ...(profile === null ? [] : [`a=fmtp:${100 + at} level-id=93;profile-id=${profile};tier-flag=0;tx-mode=SRST`]),
      ]),
      'a=rtpmap:99 VP8/90000',
    ])
  const forViewer = (profile: string | null, ...offered: (string | null)[]) =>
    chooseForViewer(withHevc(...offered), { codec: 'hevc', profile })?.codec.payloadType ?? null

  it('is taken of a publisher that offers nothing else, or that is asked for it', () => {
    expect(chooseForPublisher(withHevc('1'), null)).toMatchObject({ name: 'vp8' })
    expect(chooseForPublisher(withHevc('1'), 'hevc')).toMatchObject({ name: 'hevc' })
    const alone = mediaOf(['m=video 9 UDP/TLS/RTP/SAVPF 96', 'a=rtcp-mux', 'a=rtpmap:96 H265/90000'])
    expect(chooseForPublisher(alone, null)).toMatchObject({ name: 'hevc' })
  })

  it.each<[sent: string | null, offered: (string | null)[], chosen: number | null]>([
    ['1', ['1'], 100],
    ['1', [null], 100],
    ['1', ['2'], 100],
    ['2', ['1', '2'], 101],
    ['2', ['1'], null],
    ['1', ['4'], null],
    [null, ['1'], 100],
  ])('of profile %s goes to a viewer who offers %j as %s', (sent, offered, chosen) =>
    expect(forViewer(sent, ...offered)).toBe(chosen),
  )
})

describe('of several lines of one kind', () => {
  it('a viewer gets the first that takes what is sent', () => {
    const lines = [VP8.map((line) => line.replace('VP8', 'AV1')), VP8, VP8]
    const offer = { media: lines.map((one) => mediaOf(one)) } as unknown as SdpOffer
    const track = { codec: 'vp8', profile: null } as const
    const plan = planView(offer, { video: track, audio: null })
    expect(plan.ok && plan.value.map((one) => one?.rtxPayloadType ?? null)).toEqual([null, 97, null])
    expect(planView(offer, { video: null, audio: track }).ok).toBe(false)
  })
})

describe('a format', () => {
  it.each<[string, string, string | null]>([
    ['VP8/90000', '', null],
    ['VP8/48000', '', 'a clock rate of 48000'],
    ['VP9/90000', '', null],
    ['VP9/90000', 'profile-id=0', null],
    ['VP9/90000', 'profile-id=2', 'profile-id=2'],
    ['VP9/90000', 'profile=2', null],
    ['AV1/90000', 'profile=1', 'profile=1'],
    ['H265/90000', '', null],
    ['H265/90000', 'profile-id=2', null],
    ['H265/90000', 'profile-id=4', 'profile-id=4'],
    ['H265/90000', 'tx-mode=MRST', 'tx-mode=MRST'],
    ['H265/90000', 'sprop-max-don-diff=2', 'sprop-max-don-diff=2'],
    ['AV1/90000', 'profile-id=2', null],
    ['VP8/90000', 'profile=1;profile-id=2', null],
    ['H264/90000', 'packetization-mode=0', null],
    ['H264/90000', `packetization-mode=${'2'.repeat(30)}`, `packetization-mode=${'2'.repeat(20)}`],
  ])('of %s with %j from a publisher is served, or not: %s', (map, fmtp, expected) => {
    const [codec] = mediaOf([...VIDEO, `a=rtpmap:96 ${map}`, `a=fmtp:96 ${fmtp}`]).codecs
    const name = codec && codecNameOf(codec, 'video')
    if (!codec || !name) throw new Error('it has a codec')
    expect(formatProblem(codec, name, 'publish')?.offered ?? null).toBe(expected)
  })
})
