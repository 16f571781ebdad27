import { expect, test } from 'vitest'
import type { Frame, FrameSink, TrackInfo } from '../../../src/media/frame.ts'
import { Hub } from '../../../src/media/hub.ts'
import { createJsFanout } from '../../../src/media/relay/forward/fanout.ts'
import { FeedPipe } from '../../../src/media/relay/processes/feedPipe.ts'
import { Feeds } from '../../../src/media/relay/forward/feeds.ts'
import { FrameFeed } from '../../../src/media/relay/forward/frameFeed.ts'
import type { ToRelay } from '../../../src/media/relay/processes/messages.ts'
import type { Source } from '../../../src/media/relay/forward/source.ts'

const VIDEO: TrackInfo = { kind: 'video', codec: 'h264', width: 640, height: 360, config: new Uint8Array() }
const OPUS: TrackInfo = { kind: 'audio', codec: 'opus', sampleRate: 48_000, channels: 2, config: new Uint8Array() }

/** A keyframe of one NAL unit, as in MP4. */
const videoFrame = (timeUs: number): Frame => {
  const data = Buffer.from([0, 0, 0, 2, 0x65, 0x88])
  return { kind: 'video', timeUs, decodeTimeUs: timeUs, key: true, data }
}

/** A feed from elsewhere, without its frames, until `feeds` wants them. */
function feedOf(ready: (source: Source) => void = () => undefined): FrameFeed {
  const options = { sessionId: 'f', sourceId: null, createFanout: createJsFanout, ended: () => undefined, now: () => 0 }
  return new FrameFeed({ ...options, ready })
}

test('a feed is wanted with its first viewer, and for ten seconds after its last', () => {
  const wanted: string[] = []
  const feeds = new Feeds((sessionId, isWanted) => wanted.push(`${sessionId} ${isWanted}`))
  const viewers = new Set<string>()
  const reconcile = (nowMs: number) => feeds.reconcile(nowMs, (sessionId, room) => viewers.has(`${room} ${sessionId}`))
  feeds.add('f', 'a/b', feedOf())
  feeds.add('g', 'a/b', feedOf())
  reconcile(0)
  expect(wanted).toEqual([])
  viewers.add('a/b f')
  reconcile(1000)
  reconcile(2000)
  viewers.clear()
  reconcile(11_900)
  expect(wanted).toEqual(['f true'])
  reconcile(12_000)
  expect(wanted).toEqual(['f true', 'f false'])
  viewers.add('a/b f')
  reconcile(12_001)
  expect(wanted.at(-1)).toBe('f true')
})

test('a viewer is answered although the feed rests, and gets nothing of an earlier time', () => {
  const sources: Source[] = []
  const feed = feedOf((source) => sources.push(source))
  feed.tracks([VIDEO, OPUS])
  feed.frame(videoFrame(0))
  const kept = () => sources.at(-1)?.layers[0]?.track.sinceKeyframe().length
  expect(kept()).toBe(1)
  feed.rest()
  expect(sources.at(-1)?.audio).not.toBeNull()
  expect(kept()).toBe(0)
  feed.frame(videoFrame(60e6))
  expect(kept()).toBe(1)
})

test('the tracks of a feed are posted at once, its frames while they are wanted', () => {
  const [hub, posted]: [Hub, ToRelay[]] = [new Hub(), []]
  const notified = new Set<(tracks: readonly TrackInfo[]) => void>()
  const source = {
    subscribe: (sink: FrameSink) => hub.subscribe(sink),
    announce(listener: (tracks: readonly TrackInfo[]) => void) {
      notified.add(listener)
      return () => notified.delete(listener)
    },
  }
  const pipe = new FeedPipe({ sessionId: 'f', source, post: (message) => posted.push(message) })
  const kinds = () => posted.splice(0).map(({ kind }) => kind)
  pipe.open()
  for (const announce of notified) announce([VIDEO])
  hub.tracks([VIDEO])
  hub.frame(videoFrame(0))
  expect(kinds()).toEqual(['tracks'])
  pipe.want(true)
  pipe.want(true)
  hub.frame(videoFrame(40_000))
  for (const announce of notified) announce([VIDEO, OPUS])
  expect(kinds()).toEqual(['tracks', 'frame', 'frame'])
  pipe.want(false)
  hub.frame(videoFrame(80_000))
  expect(kinds()).toEqual(['rest'])
  pipe.stop()
  pipe.want(true)
  expect([kinds(), notified.size]).toEqual([[], 0])
})
