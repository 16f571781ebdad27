import { findingOf } from '../streams/findings.ts'
import { streamIdOf } from '../streams/streamId.ts'
import type { WebhookEvent } from './events.ts'

/** The types of `POST /api/webhooks/test/{webhookType}`. `Media` and `Recordings` are two names of one type. */
export const TEST_TYPES = [
  'Recordings',
  'Thumbnail',
  'Transcoder',
  'Media',
  'Feeds',
  'FeedHealth',
  'Restream',
  'ViewerConnection',
] as const
export type TestType = (typeof TEST_TYPES)[number]

/** The content of a delivery: an event as JSON, or an image with headers. */
export type Notification =
  | { readonly kind: 'event'; readonly event: WebhookEvent }
  | {
      readonly kind: 'thumbnail'
      readonly feedId: string
      readonly streamId: string
      readonly tokenId: number
      /** JPEG. */
      readonly image: Uint8Array
      /** The stream name, for filters. */
      readonly subject: string
    }

export interface ExampleSubject {
  readonly accountId: string
  readonly nowMs: number
  readonly streamName?: string
  readonly transcoderName?: string
}

/** No feed, token or recording has these ids, so a receiver that looks them up finds nothing. */
const NO_FEED = '00000000-0000-4000-8000-000000000000'
const NO_TOKEN = 0

/** A grey JPEG of 8 by 8 pixels. */
const GREY_JPEG =
  '/9j/2wBDAAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB' +
  'AQEBAQH/wAALCAAIAAgBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAAP/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AP//Z'

/** The test delivery of this type: a real event in every field but its ids. */
export function exampleEvent(type: TestType, about: ExampleSubject): Notification {
  const streamName = about.streamName ?? 'example'
  const stream = { name: streamName, streamId: streamIdOf({ accountId: about.accountId, streamName }) }
  switch (type) {
    case 'Feeds':
      return event({ type: 'feeds', event: 'started', data: exampleFeed(about, stream) })
    case 'FeedHealth':
      return event({ type: 'feeds', event: 'health', data: exampleHealth(about, stream) })
    case 'Media':
    case 'Recordings':
      return event({ type: 'recording', event: 'completed', data: exampleRecording(about, stream) })
    case 'Transcoder':
      return event({ type: 'transcoder', event: 'started', data: exampleTranscoder(about) })
    case 'Restream':
      return event({ type: 'restream', event: 'started', data: exampleTarget(about, stream) })
    case 'ViewerConnection': {
      const data = { ...stream, accountId: about.accountId }
      return event({ type: 'viewerConnection', event: 'FirstViewerConnection', data })
    }
    case 'Thumbnail': {
      const image = Uint8Array.from(atob(GREY_JPEG), (character) => character.charCodeAt(0))
      const { name: subject, streamId } = stream
      return { kind: 'thumbnail', feedId: NO_FEED, streamId, tokenId: NO_TOKEN, image, subject }
    }
  }
}

const event = (event: WebhookEvent): Notification => ({ kind: 'event', event })

interface ExampleStream {
  name: string
  streamId: string
}

function exampleFeed(about: ExampleSubject, stream: ExampleStream) {
  const { accountId, nowMs: started } = about
  return { feedId: NO_FEED, accountId, ...stream, tokenId: NO_TOKEN, active: true, started }
}

function exampleHealth(about: ExampleSubject, stream: ExampleStream) {
  const keyframeMs = 20_000
  const found = { code: 'keyframe_interval', value: keyframeMs, sinceMs: about.nowMs } as const
  const health = 'impaired' as const
  return {
    ...exampleFeed(about, stream),
    health,
    findings: [findingOf(found, { longestKeyframeMs: keyframeMs })],
    cleared: [],
  }
}

function exampleTarget({ accountId }: ExampleSubject, stream: ExampleStream) {
  const target = { index: 0, label: 'example', url: 'rtmps://live.example.com/app' }
  return { feedId: NO_FEED, accountId, ...stream, tokenId: NO_TOKEN, ...target }
}

function exampleRecording(about: ExampleSubject, { name: streamName, streamId }: ExampleStream) {
  const durationMs = 60_000
  return {
    recordingId: 'example',
    tokenId: NO_TOKEN,
    streamName,
    streamId,
    started: about.nowMs - durationMs,
    ended: about.nowMs,
    bytes: 7_500_000,
    durationMs,
    tracks: [
      { type: 'video' as const, codec: 'h264', width: 1280, height: 720 },
      { type: 'audio' as const, codec: 'opus' },
    ],
  }
}

function exampleTranscoder(about: ExampleSubject) {
  const transcoderName = about.transcoderName ?? 'example'
  return { transcoderId: 'example', transcoderName, channelId: 'example', status: 'playing', created: about.nowMs }
}
