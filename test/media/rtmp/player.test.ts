import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import type { Frame, TrackInfo } from '../../../src/media/frame.ts'
import { type PullProblem, SILENT_SECONDS } from '../../../src/media/pulling.ts'
import { controlMessage, EVENT, MESSAGE, userControl } from '../../../src/media/rtmp/messages.ts'
import { RtmpPlayer } from '../../../src/media/rtmp/player.ts'
import { strictLog } from '../../support/log.ts'
import { errorTo, RtmpSource, type SourceOptions, statusOf } from '../../support/rtmpSource.ts'
import { until } from '../../support/until.ts'
import { encoded } from '../ffmpeg/frames.ts'
import { pausedForGood } from './client.ts'
import { enhancedMessages } from './enhanced.ts'
import { AAC_CONFIG, aacConfig, aggregateOf, audioFrame, AVC_CONFIG, avcConfig, message, videoFrame } from './media.ts'
import { listenOnly } from './publications.ts'

const STREAM_ENDED = 'The source says that its stream has ended'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function source(options: SourceOptions = {}): Promise<RtmpSource> {
  const started = await RtmpSource.start(options)
  closing.push(() => started.stop())
  return started
}

/** A server that says what the test wants, whatever it hears. */
const foreign = (serve: (socket: Socket) => void): Promise<number> => listenOnly(serve, closing)

interface Playing {
  readonly player: RtmpPlayer
  readonly socket: Socket
  readonly trackLists: (readonly TrackInfo[])[]
  readonly frames: Frame[]
  readonly ends: PullProblem[]
  readonly leftOut: string[]
}

async function play(port: number, path = 'live/show?key=s3cret-key'): Promise<Playing> {
  const socket = connect(port, '127.0.0.1')
  closing.push(() => socket.destroy())
  await once(socket, 'connect')
  const seen = { trackLists: [], frames: [], ends: [], leftOut: [] } as Omit<Playing, 'player' | 'socket'>
  const player = new RtmpPlayer({
    socket,
    clock: systemClock,
    log: strictLog,
    random: systemRandom,
    url: new URL(`rtmp://127.0.0.1:${port}/${path}`),
    maxFrameBytes: 1_000_000,
    sink: {
      tracks: (tracks) => void seen.trackLists.push(tracks),
      frame: (frame) => void seen.frames.push(frame),
      end: () => undefined,
    },
    leftOut: (what) => void seen.leftOut.push(what),
    ended: (problem) => void seen.ends.push(problem),
  })
  await player.start()
  return { player, socket, ...seen }
}

const endOf = ({ ends }: Playing) => until(() => ends[0])
const silence = ({ player }: Playing, looks = SILENT_SECONDS + 1) => {
  for (let look = 0; look < looks; look++) player.tick()
}

describe('a player', () => {
  test('asks for the stream, and takes its tracks and its frames with their times', async () => {
    const server = await source()
    const playing = await play(server.port)
    await until(() => server.players === 1)
    expect(server.played).toEqual(['show?key=s3cret-key'])
    const [, , facts] = server.commands[0] ?? []
    const url = `rtmp://127.0.0.1:${server.port}/live`
    expect(Object.fromEntries(facts as unknown as Map<string, unknown>)).toMatchObject({
      app: 'live',
      tcUrl: url,
      fourCcList: ['avc1', 'hvc1', 'av01', 'vp09', 'vp08', 'mp4a', 'Opus'],
    })
    const video = videoFrame(1040, 200_000, { compositionMs: 80 })
    server.send(avcConfig(), aacConfig(), video, audioFrame(1050), videoFrame(1080, 100, { key: false }))
    await until(() => playing.frames.length === 3)
    expect(playing.trackLists).toMatchObject([
      [
        { codec: 'h264', width: 320, height: 240, config: AVC_CONFIG },
        { codec: 'aac', config: Uint8Array.from(AAC_CONFIG) },
      ],
    ])
    const got = playing.frames.map(({ kind, key, timeUs, decodeTimeUs, data }) => [
      kind,
      key,
      decodeTimeUs,
      timeUs,
      data.length,
    ])
    expect(got).toEqual([
      ['video', true, 1_040_000, 1_120_000, 200_004],
      ['audio', true, 1_050_000, 1_050_000, 50],
      ['video', false, 1_080_000, 1_080_000, 104],
    ])
    expect(playing.player.bytesIn).toBeGreaterThan(200_000)
    playing.player.end()
    await until(() => server.sockets.size === 0)
    expect(playing.ends).toEqual([])
  })

  test.each([
    ['hevc', 'opus'],
    ['av1', 'aac'],
    ['vp9', 'opus'],
  ] as const)('takes %s and %s of enhanced RTMP', async (video, audio) => {
    const show = await encoded({ video, audio, seconds: 1, gop: 25 })
    const server = await source({ tags: enhancedMessages(show) })
    const playing = await play(server.port)
    await until(() => new Set(playing.frames.map(({ kind }) => kind)).size === 2)
    expect(playing.trackLists[0]).toMatchObject([{ codec: video }, { codec: audio }])
  })

  test('takes media in the packet of the answer, and in aggregate messages', async () => {
    const parts = aggregateOf(0, [avcConfig(), videoFrame(0, 100_000)])
    const answer = (name: string) => (name === 'play' ? [statusOf('NetStream.Play.Start'), parts] : undefined)
    const playing = await play((await source({ answer })).port)
    await until(() => playing.frames.length === 1)
  })

  test('acknowledges what it reads, and answers pings', async () => {
    const server = await source()
    const playing = await play(server.port)
    await until(() => server.players === 1)
    server.send(controlMessage(MESSAGE.windowSize, 100_000), userControl(EVENT.pingRequest, 77), avcConfig())
    server.send(videoFrame(0, 300_000))
    await until(() => playing.frames.length === 1)
    const sent = (type: number) => until(() => server.others.find((one) => one.type === type))
    expect((await sent(MESSAGE.acknowledgement)).payload.readUInt32BE(0)).toBeGreaterThan(100_000)
    expect((await sent(MESSAGE.userControl)).payload).toEqual(userControl(EVENT.pingResponse, 77).payload)
  })

  test('goes on when the clock of the source jumps, and says so', async () => {
    const server = await source()
    const playing = await play(server.port)
    await until(() => server.players === 1)
    server.send(avcConfig(), videoFrame(5000), videoFrame(2_000_000))
    await until(() => playing.frames.length === 2)
    expect(playing.frames[1]?.timeUs).toBeLessThan(60_000_000)
    expect(playing.leftOut).toHaveLength(1)
  })
})

describe('a source that gives no media', () => {
  test.each([
    [
      'refuses the connection',
      (n: number) => [errorTo(n, 'NetConnection.Connect.Rejected', { description: 'come back later' })],
      { kind: 'refused', message: 'The source says: come back later' },
    ],
    [
      'redirects',
      (n: number) => [errorTo(n, 'NetConnection.Connect.Rejected', { redirect: 'rtmp://127.0.0.1:1/x/y' })],
      { kind: 'refused', message: 'The source redirects to another address, which is not followed' },
    ],
  ])('%s', async (_, answer, problem) => {
    const server = await source({ answer: (name, n) => (name === 'connect' ? answer(n) : undefined) })
    expect(await endOf(await play(server.port, 'live/show'))).toMatchObject(problem)
    expect(server.commands).toHaveLength(1)
  })

  test.each([
    [
      'has no such stream',
      statusOf('NetStream.Play.StreamNotFound', { description: 'no show?key=s3cret-key, s3cret-key' }, 'error'),
      { kind: 'lost', message: 'The source says: no ••••, ••••' },
    ],
    [
      'denies it',
      statusOf('NetStream.Play.Denied', { description: ' pay \x07first. ' }),
      { kind: 'refused', message: 'The source says: pay  first' },
    ],
    [
      'redirects',
      statusOf('NetStream.Play.Failed', { redirect: 'rtmp://127.0.0.1:1/x/y' }, 'error'),
      { kind: 'refused', message: 'The source redirects to another address, which is not followed' },
    ],
    ['has ended', statusOf('NetStream.Play.UnpublishNotify'), { kind: 'lost', message: STREAM_ENDED }],
    ['says that it has ended', userControl(EVENT.streamEof, 1), { kind: 'lost', message: STREAM_ENDED }],
    [
      'sends another codec',
      message(MESSAGE.video, 0, [0x90], Buffer.from('vvc1')),
      { kind: 'unsuitable', message: expect.stringContaining('Video codec vvc1 is not supported') as string },
    ],
  ])('%s', async (_, said, problem) => {
    const server = await source({ answer: (name) => (name === 'play' ? [said] : undefined) })
    const playing = await play(server.port)
    expect(await endOf(playing)).toMatchObject(problem)
    await until(() => server.sockets.size === 0)
  })

  test('is given up if it does not answer, and when its media stops, whatever else it says', async () => {
    const mute = await play(await foreign(() => undefined))
    silence(mute, SILENT_SECONDS)
    expect(mute.ends).toEqual([])
    silence(mute, 1)
    expect(mute.ends).toMatchObject([{ kind: 'lost', message: 'The source did not answer in time' }])
    const server = await source()
    const paused = await play(server.port)
    await until(() => server.players === 1)
    server.send(avcConfig(), videoFrame(0))
    await until(() => paused.frames.length === 1)
    silence(paused, SILENT_SECONDS)
    const { bytesIn } = paused.player
    server.send(statusOf('NetStream.Pause.Notify'), userControl(EVENT.pingRequest, 1))
    await until(() => paused.player.bytesIn > bytesIn)
    expect(paused.ends).toEqual([])
    silence(paused, 1)
    expect(paused.ends).toMatchObject([
      { kind: 'lost', message: `The source has sent no media for ${SILENT_SECONDS} s` },
    ])
  })

  test('is told apart from a server that goes away', async () => {
    const server = await source()
    const playing = await play(server.port)
    await until(() => server.players === 1)
    await server.stop()
    closing.length = 0
    expect(await endOf(playing)).toMatchObject({ kind: 'lost', message: 'The source has closed the connection' })
    playing.player.end()
    expect(playing.ends).toHaveLength(1)
  })
})

describe('a hostile source', () => {
  test('that is no RTMP server is given up', async () => {
    const http = await play(await foreign((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')))
    expect((await endOf(http)).message).toContain('does not speak RTMP')
  })

  test('that floods with commands is given up', async () => {
    const flood = Array.from({ length: 65 }, () => statusOf('NetStream.Play.Reset'))
    const server = await source({ answer: (name) => (name === 'play' ? flood : undefined) })
    expect((await endOf(await play(server.port))).message).toBe('The source sends too many commands')
  })

  test.each([
    ['messages', () => Array.from({ length: 10_001 }, () => userControl(EVENT.streamBegin, 1))],
    ['parts of messages', () => Array.from({ length: 12 }, () => aggregateOf(0, Array(1000).fill(audioFrame(0, 1))))],
  ])('that floods with %s waits for the next tick', async (_what, flood) => {
    const server = await source()
    const playing = await play(server.port)
    await until(() => server.players === 1)
    server.send(...flood())
    await pausedForGood(playing.socket)
    playing.player.tick()
    expect([playing.socket.isPaused(), playing.ends]).toEqual([false, []])
  })

  test('that announces more than a frame may have is given up before it has sent it', async () => {
    const huge = Buffer.from([0x04, 0, 0, 0, 0x7f, 0xff, 0xff, 9, 1, 0, 0, 0, 0x17])
    const server = await source()
    const playing = await play(server.port)
    await until(() => server.players === 1)
    for (const socket of server.sockets) socket.write(huge)
    expect((await endOf(playing)).message).toBe(
      'What the source sends is not RTMP: a message of 8388607 bytes; 1000000 is the most',
    )
  })

  test('that pings without reading the answers is given up, and little waits for it', async () => {
    const server = await source()
    const playing = await play(server.port)
    await until(() => server.players === 1)
    for (const socket of server.sockets) socket.pause()
    const pings = Array.from({ length: 9000 }, () => userControl(EVENT.pingRequest, 1))
    const isSent = (): boolean => [...server.sockets].every(({ writableLength }) => writableLength === 0)
    while (playing.ends.length === 0) {
      server.send(...pings, aacConfig())
      // Shorter pauses are those for the turns of others.
      for (let turns = 0; !isSent(); turns = playing.socket.isPaused() ? turns + 1 : 0) {
        await setImmediate()
        if (turns % 100 === 99) playing.player.tick()
      }
      expect(playing.socket.writableLength).toBeLessThan(100_000)
    }
    expect(playing.ends[0]?.message).toBe('The source does not read what it is sent')
  })

  test('never makes it throw, whatever follows the handshake', async () => {
    for (let round = 0; round < 100; round++) {
      const port = await foreign((socket) => {
        const head = Buffer.concat([Buffer.from([3]), Buffer.alloc(3072)])
        socket.end(Buffer.concat([head, systemRandom.bytes(round * 5)]))
      })
      expect((await endOf(await play(port))).kind).toBe('lost')
    }
  })
})
