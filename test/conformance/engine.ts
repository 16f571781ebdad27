import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { MediaEngine, MediaEngineEvent } from '../../src/media/engine.ts'
import type { Frame, TrackInfo } from '../../src/media/frame.ts'
import { encoded, Player } from '../media/ffmpeg/frames.ts'
import { vp8 } from '../../src/media/codecs/vp8.ts'
import { until } from '../support/until.ts'
import { publishTo, TestPublisher, TestViewer, viewFrom } from '../support/rtcPeer.ts'

/** An engine under test. */
export interface MediaEngineUnderTest {
  create(): MediaEngine
  /** Kills a process of the engine with SIGKILL, like a crash. */
  kill(): void
}

/** Tests the contract of `src/media/engine.ts`, with another implementation of WebRTC as the peer. */
export function engineConformance(name: string, under: MediaEngineUnderTest): void {
  describe(name, () => {
    let engine: MediaEngine
    let events: MediaEngineEvent[] = []
    let ids = 0
    const open: { close(): Promise<void> }[] = []
    const id = (): string => `s${(ids += 1)}`
    const tracked = <T extends { close(): Promise<void> }>(one: T): T => {
      open.push(one)
      return one
    }
    const endOf = (sessionId: string) =>
      events.flatMap((event) => (event.kind === 'ended' && event.sessionId === sessionId ? [event.reason] : []))
    const hasEnded = (sessionId: string) => until(() => endOf(sessionId).length > 0)
    const isConnected = (sessionId: string) =>
      until(() => events.some((event) => event.kind === 'connected' && event.sessionId === sessionId))
    const publish = async (sessionId: string, over = {}) => {
      const publisher = tracked(await publishTo(engine, sessionId, over))
      await isConnected(sessionId)
      return publisher
    }
    const view = async (sessionId: string, over = {}) => tracked(await viewFrom(engine, sessionId, over))
    const isWatching = (viewer: TestViewer, more = 10) => viewer.gets(more)
    /** A publisher that is gone. To be lost takes it as long as the other tests, which leave it alone. */
    const vanish = async () => {
      const [sessionId, room] = [id(), 'a1b2c3/vanished']
      engine.watch((event) => {
        if (event.kind === 'ended' && event.sessionId === sessionId) endsOfVanished.push(event.reason)
      })
      const publisher = await publishTo(engine, sessionId, { room })
      const viewer = await viewFrom(engine, id(), { room })
      await isWatching(viewer)
      await viewer.close()
      await publisher.vanish()
      events = []
      return publisher
    }

    const endsOfVanished: string[] = []
    let vanished: TestPublisher

    beforeAll(async () => {
      engine = under.create()
      engine.watch((event) => events.push(event))
      await engine.start()
      vanished = await vanish()
    })
    afterEach(async () => {
      for (const one of open.splice(0)) await one.close()
      const begun = new Set(events.flatMap((event) => (event.kind === 'connected' ? [event.sessionId] : [])))
      for (const sessionId of begun) await engine.end(sessionId)
      events = []
    })
    afterAll(() => engine.stop())

    test.each(['vp8', 'h264'] as const)(
      '%s goes from a publisher to a viewer, every packet in its order',
      async (codec) => {
        await publish(id(), { codec })
        const viewer = await view(id(), { codec })
        await isWatching(viewer, 60)
        expect(viewer.steps).toEqual(new Set([1]))
      },
    )

    test('a viewer that comes late begins with a keyframe', async () => {
      const first = id()
      await publish(first)
      await isWatching(await view(id()), 30)
      const late = await view(id())
      await isWatching(late, 1)
      expect(vp8.isKeyStart(late.packets[0]?.payload ?? Buffer.alloc(0))).toBe(true)
    })

    test('an invalid offer, or one that nothing can serve, is refused with a reason and leaves no session', async () => {
      const room = 'a1b2c3/nobody'
      const offer = await tracked(new TestViewer()).offer()
      const common = { room, sourceId: null }
      const nothing = await engine.view({ ...common, sessionId: id(), offer })
      expect(nothing).toMatchObject({ ok: false, status: 409 })
      const garbage = await engine.publish({ ...common, sessionId: id(), offer: 'hello', codec: null })
      expect(garbage).toMatchObject({ ok: false, status: 400, problem: expect.stringContaining('SDP') })
      const publisher = tracked(new TestPublisher())
      const wrong = await engine.publish({ ...common, sessionId: id(), offer: await publisher.offer(), codec: 'av1' })
      expect(wrong).toMatchObject({ ok: false, status: 406, problem: expect.stringContaining('AV1') })
      await publish(id(), { room, codec: 'h264' })
      const other = await engine.view({ ...common, sessionId: id(), offer })
      expect(other).toMatchObject({ ok: false, status: 406, problem: expect.stringContaining('H264') })
    })

    test('a trickle of the current ICE session needs no If-Match; without it nothing restarts ICE', async () => {
      const sessionId = id()
      const publisher = await publish(sessionId)
      const ufrag = /a=ice-ufrag:(\S+)/.exec(publisher.pc.localDescription?.sdp ?? '')?.[1] ?? ''
      const pwd = 'a=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\r\n'
      const trickle = `a=ice-ufrag:${ufrag}\r\n${pwd}m=video 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\na=end-of-candidates\r\n`
      expect(await engine.patch(sessionId, trickle, false)).toEqual({ ok: true, answer: null, etag: ufrag })
      const restart = `a=ice-ufrag:EsAw\r\n${pwd}`
      for (const fragment of [restart, pwd, 'a=end-of-candidates\r\n'])
        expect(await engine.patch(sessionId, fragment, false)).toMatchObject({ ok: false, status: 428 })
      expect(await engine.patch(sessionId, restart, true)).toMatchObject({ ok: true, etag: 'EsAw' })
      // A candidate of the earlier ICE session is too late.
      expect(await engine.patch(sessionId, trickle, false)).toMatchObject({ ok: false, status: 428 })
    })

    test('ending a session stops its media before the promise resolves, and no other session', async () => {
      await publish(id())
      const [cutId, otherId] = [id(), id()]
      const [cut, other] = [await view(cutId), await view(otherId)]
      await Promise.all([isWatching(cut), isWatching(other)])
      await engine.end(cutId)
      expect(endOf(cutId)).toEqual(['kicked'])
      await isWatching(other, 20)
      // Packets that were sent before the end may still arrive.
      const seen = cut.packets.length
      await isWatching(other, 20)
      expect(cut.packets.length).toBe(seen)
      await expect(engine.end('nobody')).resolves.toBeUndefined()
    })

    test('a second publisher replaces the first, and viewers follow without a jump', async () => {
      const [first, second] = [id(), id()]
      await publish(first)
      const viewer = await view(id())
      await isWatching(viewer)
      await publish(second)
      await hasEnded(first)
      expect(endOf(first)).toEqual(['replaced'])
      await isWatching(viewer, 40)
      expect(Math.max(...viewer.steps)).toBe(1)
      expect(endOf(second)).toEqual([])
    })

    test('a viewer that does not support the codec of the next publisher ends at once, so that it reconnects', async () => {
      const [viewerId, laterId] = [id(), id()]
      await publish(id(), { codec: 'vp8' })
      await isWatching(await view(viewerId, { codec: 'vp8' }))
      await publish(id(), { codec: 'h264' })
      await hasEnded(viewerId)
      expect(endOf(viewerId)).toEqual(['source_gone'])
      await isWatching(await view(laterId, { codec: 'h264' }))
      expect(endOf(laterId)).toEqual([])
    })

    test('a source id separates publishers, and viewers get the one that they request', async () => {
      const [first, second] = [id(), id()]
      await publish(first, { sourceId: 'left' })
      await publish(second, { sourceId: 'right', codec: 'h264' })
      await isWatching(await view(id(), { sourceId: 'left' }))
      await isWatching(await view(id(), { sourceId: 'right', codec: 'h264' }))
      expect([...endOf(first), ...endOf(second)]).toEqual([])
      await expect(view(id(), { sourceId: 'middle' })).rejects.toThrow('not being published')
    })

    test('bytes of a publisher and of its viewers are counted, and reported once more before the end', async () => {
      const [from, to] = [id(), id()]
      await publish(from)
      const viewer = await view(to)
      await isWatching(viewer, 80)
      await engine.end(to)
      await engine.end(from)
      await hasEnded(from)
      const last = (sessionId: string) =>
        events.findLast((event) => event.kind === 'bytes' && event.sessionId === sessionId) as
          | Extract<MediaEngineEvent, { kind: 'bytes' }>
          | undefined
      const payload = viewer.packets.reduce((sum, packet) => sum + packet.payload.length + 12, 0)
      expect(last(to)?.bytesOut ?? 0).toBeGreaterThanOrEqual(payload)
      expect(last(from)?.bytesIn ?? 0).toBeGreaterThanOrEqual(payload * 0.9)
    })

    test('the size of the video of a publisher and the number of its frames are reported', async () => {
      const sessionId = id()
      await publish(sessionId)
      const sizes = () =>
        events.flatMap((event) =>
          event.kind === 'tracks' && event.sessionId === sessionId
            ? event.tracks.map((track) => (track.kind === 'video' ? track.width * track.height : 0))
            : [],
        )
      await until(() => sizes().some((size) => size > 0))
      const frames = () =>
        events.flatMap((event) => (event.kind === 'bytes' && event.sessionId === sessionId ? [event.frames ?? 0] : []))
      await until(() => frames().some((count) => count >= 10))
      await engine.end(sessionId)
      await hasEnded(sessionId)
    })

    test('a tap gives the frames of a publisher from a keyframe on, with their size and times', async () => {
      const sessionId = id()
      await publish(sessionId)
      const [tracks, frames]: [(readonly TrackInfo[])[], Frame[]] = [[], []]
      const sink = {
        tracks: (list: readonly TrackInfo[]) => tracks.push(list),
        frame: (one: Frame) => frames.push(one),
        end: () => undefined,
      }
      const stop = engine.tap(sessionId).subscribe(sink)
      await until(() => frames.length >= 30)
      stop()
      const video = tracks[0]?.find((track) => track.kind === 'video')
      expect(video).toMatchObject({ kind: 'video', codec: 'vp8' })
      expect(video?.width).toBeGreaterThan(0)
      expect(frames[0]?.key).toBe(true)
      const times = frames.map(({ timeUs }) => timeUs)
      expect(times).toEqual(times.toSorted((a, b) => a - b))
    })

    test('viewers get the frames of a feed, which has a subscriber only while there are viewers', async () => {
      const [sessionId, room] = [id(), 'a1b2c3/frames']
      const player = new Player(await encoded({ video: 'h264', audio: 'opus', seconds: 3, gop: 25 }), 1)
      await engine.feed({ sessionId, room, sourceId: null, source: player })
      await until(() => events.some((event) => event.kind === 'tracks' && event.sessionId === sessionId))
      expect(player.subscribers).toBe(0)
      const [first, second] = [id(), id()]
      await isWatching(await view(first, { room, codec: 'h264' }), 20)
      await engine.end(first)
      await isWatching(await view(second, { room, codec: 'h264' }), 20)
      expect(player.subscribers).toBe(1)
      player.end()
      await hasEnded(sessionId)
    })

    test('a publisher that vanishes without a BYE is lost', async () => {
      await until(() => endsOfVanished.length > 0)
      expect(endsOfVanished).toEqual(['lost'])
      await vanished.close()
    })

    test('a process that dies ends its own sessions, reports it, and is restarted', async () => {
      const sessionId = id()
      await publish(sessionId)
      const viewerId = id()
      await isWatching(await view(viewerId))
      under.kill()
      // They may have been in two processes, which are seen to die one after the other.
      await until(() => [sessionId, viewerId].every((of) => endOf(of).length > 0))
      await until(() => events.some(({ kind }) => kind === 'died'))
      expect([endOf(sessionId), endOf(viewerId)]).toEqual([['engine_died'], ['engine_died']])
      await until(async () => {
        const answer = await engine.publish({
          sessionId: id(),
          room: 'x/y',
          sourceId: null,
          offer: 'hello',
          codec: null,
        })
        return !answer.ok && answer.status === 400
      })
      await publish(id())
      await isWatching(await view(id()))
    })
  })
}
