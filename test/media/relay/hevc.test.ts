import { execFile } from 'node:child_process'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { FrameAssembler } from '../../../src/media/codecs/assembler.ts'
import { isHevcParameterSet } from '../../../src/media/codecs/hevc.ts'
import { lengthPrefixed, splitNals } from '../../../src/media/codecs/nalUnits.ts'
import { packetizer } from '../../../src/media/codecs/packetizer.ts'
import { videoReader } from '../../../src/media/codecs/videoReader.ts'
import { MatroskaWriter } from '../../../src/media/ffmpeg/matroska.ts'
import { codecName } from '../../../src/media/hls/sampleEntries.ts'
import type { Frame, TrackInfo, VideoTrack } from '../../../src/media/frame.ts'
import { parseRtp, payloadOf } from '../../../src/media/relay/wire/rtp.ts'
import { addressOf, WireNet, WirePeer } from '../../support/wirePeer.ts'
import { encoded } from '../ffmpeg/frames.ts'

/** Chromium has no HEVC on machines without a decoder for it, so a peer of the tests takes its place, and ffmpeg decodes. */
const MAIN = 'H265/90000\r\na=fmtp:96 level-id=93;profile-id=1;tier-flag=0;tx-mode=SRST'
const H264 = 'H264/90000\r\na=fmtp:96 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f'
const [WIDTH, HEIGHT] = [320, 180]
const FRAME_MS = 40

let video: VideoTrack
let frames: readonly Frame[]
/** As ffmpeg decodes the source. */
let raw: Buffer
let net: WireNet
let peers: WirePeer[]

beforeAll(async () => {
  const recorded = await encoded({ video: 'hevc', seconds: 2, size: `${WIDTH}x${HEIGHT}`, gop: 25 })
  const [track] = recorded.tracks
  if (track?.kind !== 'video') throw new Error('no video')
  video = track
  frames = recorded.frames
  raw = await decoded([video], frames)
  expect(raw).toHaveLength(frames.length * WIDTH * HEIGHT * 1.5)
})
beforeEach(() => {
  net = new WireNet()
  peers = []
})
afterEach(() => {
  for (const peer of peers) peer.close()
})

/** A peer that offers HEVC in place of VP8. */
function peerAt(port: number): WirePeer {
  const peer = new WirePeer(net, addressOf(port))
  const offer = peer.offer.bind(peer)
  peer.offer = (direction) => offer(direction).replace('VP8/90000', MAIN)
  peers.push(peer)
  return peer
}

async function viewerAt(port: number): Promise<WirePeer> {
  const viewer = peerAt(port)
  viewer.view(net.relay, `viewer-${port}`)
  await viewer.connect()
  return viewer
}

/** What the packets that a viewer got join to. */
function framesOf({ media }: WirePeer): { frames: Frame[]; tracks: TrackInfo[] } {
  const assembler = new FrameAssembler(videoReader('hevc'))
  const tracks: TrackInfo[] = []
  const joined = media.flatMap((packet) => {
    const header = parseRtp(packet)
    if (header === null) throw new Error('no RTP')
    const { sequence, timestamp, marker } = header
    return assembler.push({ index: sequence, timestamp, marker, payload: payloadOf(packet, header) }, net.nowMs)
  })
  const all = joined.map(({ data, key, format }, at): Frame => {
    if (format !== null) tracks.push({ kind: 'video', codec: 'hevc', ...format })
    return { kind: 'video', data, key, timeUs: at * FRAME_MS * 1000, decodeTimeUs: at * FRAME_MS * 1000 }
  })
  return { frames: all, tracks }
}

const withoutParameterSets = (data: Uint8Array): Buffer =>
  lengthPrefixed((splitNals(Buffer.from(data)) ?? []).filter((nal) => !isHevcParameterSet(nal)))

/** The pictures that ffmpeg decodes. */
function decoded(tracks: readonly TrackInfo[], shown: readonly Frame[]): Promise<Buffer> {
  const writer = new MatroskaWriter(tracks.slice(0, 1))
  const args = [
    '-v',
    'error',
    '-xerror',
    '-f',
    'matroska',
    '-i',
    'pipe:0',
    '-fps_mode',
    'passthrough',
    '-f',
    'rawvideo',
    '-',
  ]
  return new Promise((resolve, reject) => {
    const child = execFile('ffmpeg', args, { encoding: 'buffer', maxBuffer: 1 << 28 }, (error, stdout) =>
      error === null ? resolve(stdout) : reject(error),
    )
    child.stdin?.end(Buffer.concat([writer.head(), ...shown.map((frame) => writer.frame(frame))]))
  })
}

/** Whether they are decoded to the pictures of the source. */
const areSame = async (tracks: readonly TrackInfo[], shown: readonly Frame[]): Promise<boolean> =>
  raw.equals(await decoded(tracks, shown))

test('HEVC over WHIP reaches viewers over WHEP byte for byte, and recorders, and decodes', async () => {
  const publisher = peerAt(1)
  publisher.publish(net.relay, 'publisher')
  await publisher.connect()
  const taken: { tracks: readonly TrackInfo[]; frames: Frame[] } = { tracks: [], frames: [] }
  net.relay.tap('publisher', {
    tracks: (tracks) => (taken.tracks = tracks),
    frame: (frame) => void taken.frames.push(frame),
    end: () => undefined,
  })
  const viewer = await viewerAt(2)
  const cut = packetizer('hevc', Buffer.from(video.config), 1100)
  const sent: string[] = []
  for (const { data, key } of frames) {
    const payloads = cut(Buffer.from(data), key) ?? []
    sent.push(...payloads.map((payload) => payload.toString('hex')))
    publisher.sendPayloads(payloads)
    await net.pass(FRAME_MS)
  }
  const got = viewer.media.map((packet) => {
    const header = parseRtp(packet)
    return header === null ? '' : payloadOf(packet, header).toString('hex')
  })
  expect(got).toEqual(sent)
  const seen = framesOf(viewer)
  expect(seen.tracks[0]).toMatchObject({ width: WIDTH, height: HEIGHT })
  expect(await areSame(seen.tracks, seen.frames)).toBe(true)
  expect(taken.tracks).toMatchObject([{ codec: 'hevc', width: WIDTH, height: HEIGHT }])
  expect(taken.tracks.map(codecName)).toEqual([expect.stringMatching(/^hvc1\.1\.6\./)])
  expect(await areSame(taken.tracks, taken.frames)).toBe(true)
})

test('HEVC of another protocol, whose frames repeat no parameter sets, is cut into packets that decode', async () => {
  const feed = net.relay.feed({ sessionId: 'feed', room: 'a/show', sourceId: null })
  feed.tracks([video])
  const viewer = await viewerAt(1)
  for (const frame of frames) {
    feed.frame({ ...frame, data: withoutParameterSets(frame.data) })
    await net.pass(FRAME_MS)
  }
  const seen = framesOf(viewer)
  expect(seen.tracks[0]).toMatchObject({ width: WIDTH, height: HEIGHT })
  expect(await areSame(seen.tracks, seen.frames)).toBe(true)
})

test('of HEVC over WHIP a viewer without it gets H.264 where that is encoded, and others get HEVC', async () => {
  const publisher = peerAt(1)
  publisher.publish(net.relay, 'publisher')
  await publisher.connect()
  const h264 = net.relay.feed({ sessionId: 'h264', room: 'a/show', sourceId: null, preferredTo: 'publisher' })
  h264.tracks([{ ...video, codec: 'h264', config: new Uint8Array() }])
  const able = await viewerAt(2)
  const offer = new WirePeer(net, addressOf(3)).offer('recvonly').replace('VP8/90000', H264)
  const view = () => net.relay.view({ sessionId: 'unable', room: 'a/show', sourceId: null, offer })
  expect(view()).toMatchObject({ ok: true, answer: expect.stringContaining('H264/90000') })
  publisher.sendPayloads([Buffer.from([0x26, 1, 0x80])])
  await net.pass(FRAME_MS)
  expect(able.media).toHaveLength(1)
  // This machine has no room for it any more.
  h264.tracks([])
  await net.pass(200)
  expect(net.endOf('unable')).toMatchObject({ reason: 'source_gone' })
  expect(view()).toMatchObject({ ok: false, status: 406 })
})

test('a viewer without HEVC is told what the stream is, and which browsers watch it', async () => {
  const publisher = peerAt(1)
  publisher.publish(net.relay, 'publisher')
  await publisher.connect()
  const offer = new WirePeer(net, addressOf(3)).offer('recvonly')
  expect(net.relay.view({ sessionId: 'v', room: 'a/show', sourceId: null, offer })).toMatchObject({
    ok: false,
    status: 406,
    problem: expect.stringMatching(/^The stream's video is HEVC, .* Browsers that do: Safari from version 18 on/),
  })
})
