import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import * as library from 'node-datachannel'
import type { Track } from 'node-datachannel'
import { until } from '../support/until.ts'
import type { WhipRequest } from './whipPublisher.ts'

// The process that `whipPublisher` starts, so that a crash of the native library does not end the tests. A message of its
// parent gives the URL. It says `on the air`, and ends with its parent.
const [AUDIO, VIDEO] = [
  { payloadType: 111, ssrc: 0xa0d10, clockRate: 48_000 },
  { payloadType: 96, ssrc: 0x71de0, clockRate: 90_000 },
]
const RTP_HEAD = 12
/** ffmpeg ends after this number of seconds in any case. */
const LONGEST = 600
const FRAMES_PER_SECOND = 30
const OPUS_SAMPLES = 960
/** An access unit delimiter, with which every frame begins. */
const DELIMITER = Buffer.from([0, 0, 0, 1, 9])
const frames = (
  gop: number,
): string => `-re -f lavfi -i testsrc2=size=640x360:rate=${FRAMES_PER_SECOND} -c:v libx264 -preset veryfast -tune zerolatency
  -profile:v high -pix_fmt yuv420p -g ${gop} -keyint_min ${gop} -sc_threshold 0 -b:v 1500k -x264-params aud=1 -f h264 -`
const TONE = '-re -f lavfi -i sine=frequency=440 -c:a libopus -f rtp'

process.once('message', (request: WhipRequest) => void encode(request))

async function encode(request: WhipRequest): Promise<void> {
  const peer = new library.PeerConnection('publisher', { iceServers: [], bindAddress: '127.0.0.1' })
  const audio = new library.Audio('0', 'SendOnly')
  audio.addOpusCodec(AUDIO.payloadType)
  audio.addSSRC(AUDIO.ssrc, 'publisher', 'stream', 'audio')
  const video = new library.Video('1', 'SendOnly')
  video.addH264Codec(VIDEO.payloadType)
  video.addSSRC(VIDEO.ssrc, 'publisher', 'stream', 'video')
  const [audioTrack, videoTrack] = [peer.addTrack(audio), peer.addTrack(video)]
  const clocks = { audio: packetizing(audioTrack, AUDIO), video: packetizing(videoTrack, VIDEO) }
  peer.setLocalDescription()
  await until(() => peer.gatheringState() === 'complete')
  const answer = await fetch(request.url, {
    method: 'POST',
    headers: { 'content-type': 'application/sdp', authorization: `Bearer ${request.token}` },
    body: peer.localDescription()?.sdp ?? '',
  })
  const sdp = await answer.text()
  if (answer.status !== 201) throw new Error(`${answer.status} ${sdp}`)
  const moved = sdp.replaceAll(/(a=candidate:\S+ \d+ udp \d+ \S+) \d+ typ/gi, `$1 ${request.through} typ`)
  peer.setRemoteDescription(moved.replaceAll(/a=candidate:\S+ \d+ tcp .*\r\n/gi, ''), 'answer')
  await until(() => audioTrack.isOpen() && videoTrack.isOpen())
  const children = [takeVideo(videoTrack, clocks.video, request.gop ?? 60), await takeTone(audioTrack, clocks.audio)]
  const resource = new URL(answer.headers.get('location') ?? '', request.url)
  process.once('disconnect', () => {
    for (const child of children) child.kill('SIGKILL')
    void fetch(resource, { method: 'DELETE' }).finally(() => process.exit())
  })
  process.send?.('on the air')
}

/**
 * OBS's chain between its encoder and the network. The caller sets the time of the next frame in the returned
 * configuration.
 */
function packetizing(track: Track, { ssrc, payloadType, clockRate }: typeof AUDIO): { timestamp: number } {
  const config = new library.RtpPacketizationConfig(ssrc, 'publisher', payloadType, clockRate)
  const packetizer =
    payloadType === VIDEO.payloadType
      ? new library.H264RtpPacketizer('StartSequence', config)
      : new library.RtpPacketizer(config)
  packetizer.addToChain(new library.RtcpSrReporter(config))
  packetizer.addToChain(new library.RtcpNackResponder())
  track.setMediaHandler(packetizer)
  return config
}

function takeVideo(track: Track, clock: { timestamp: number }, gop: number): ChildProcess {
  const child = ffmpeg(frames(gop))
  let rest: Buffer = Buffer.alloc(0)
  child.stdout?.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    for (let end = rest.indexOf(DELIMITER, 1); end > 0; end = rest.indexOf(DELIMITER, 1)) {
      clock.timestamp = (clock.timestamp + VIDEO.clockRate / FRAMES_PER_SECOND) >>> 0
      if (track.isOpen()) track.sendMessageBinary(rest.subarray(0, end))
      rest = rest.subarray(end)
    }
  })
  return child
}

async function takeTone(track: Track, clock: { timestamp: number }): Promise<ChildProcess> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  socket.on('message', (packet) => {
    clock.timestamp = (clock.timestamp + OPUS_SAMPLES) >>> 0
    if (track.isOpen()) track.sendMessageBinary(packet.subarray(RTP_HEAD))
  })
  return ffmpeg(`${TONE} rtp://127.0.0.1:${socket.address().port}`)
}

const ffmpeg = (args: string): ChildProcess =>
  spawn('ffmpeg', ['-v', 'error', '-t', String(LONGEST), ...args.split(/\s+/)], { stdio: ['ignore', 'pipe', 'ignore'] })
