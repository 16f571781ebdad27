import { type Static, Type } from 'typebox'
import { saidAsData } from '../notices.ts'
import { TARGET_STATUSES } from '../restream/state.ts'
import { optional, pageQuery, word } from './fields.ts'
import { ACTIVE_STATUSES, INGEST_PROTOCOLS } from './types.ts'

export const ChannelMonitoring = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    status: word(ACTIVE_STATUSES, 'The most advanced status of its engines.'),
    ingests: Type.Array(Type.Object({ id: Type.String(), protocol: word(INGEST_PROTOCOLS) })),
    engines: Type.Array(
      Type.Object({
        id: Type.String(),
        status: word(ACTIVE_STATUSES),
        statusMessage: optional(
          Type.String({ description: 'Why it is in `error`, what it waits for, or that it cannot keep up.' }),
        ),
      }),
    ),
    distributions: Type.Array(
      Type.Object({
        id: Type.String(),
        status: word(['enabled', 'disabled']),
        viewers: Type.Integer({
          description: 'Viewers at this server in the last half minute: the media that they took, by the time.',
        }),
      }),
    ),
  },
  { $id: 'ChannelMonitoring' },
)
export type ChannelMonitoring = Static<typeof ChannelMonitoring>

const moments = {
  start: optional(
    Type.String({ description: 'From this moment on, ISO 8601 with a zone; within the last five minutes.' }),
  ),
  end: optional(
    Type.String({ description: 'Up to this moment, at most a minute later. Without both: the last minute.' }),
  ),
}

export const MeasuredQuery = Type.Object(moments)

export const MeasuredListQuery = Type.Object({ ...pageQuery, ...moments })

const time = Type.String({
  format: 'date-time',
  description: 'When it was measured, for the time since the one before.',
})

export const IngestMonitoring = Type.Object(
  {
    id: Type.String(),
    status: word(['connected', 'disconnected'], 'Whether its source is there.'),
    protocol: word(INGEST_PROTOCOLS),
    started: optional(Type.String({ format: 'date-time', description: 'When the source came; absent without one.' })),
    uptime: optional(Type.Integer({ description: 'Seconds since then.' })),
    note: optional(
      Type.String({ description: 'Why there are no metrics, or that nothing is made of what the publisher sends.' }),
    ),
    metrics: Type.Array(
      Type.Object({
        time,
        packetLoss: Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], {
          description:
            'Share of the packets that did not come at first; over RTSP, those that the camera numbers and does not send. ' +
            'Null over RTMP: TCP repeats what is lost by itself.',
        }),
        rtt: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
          description: 'Round trip, milliseconds. Null over RTMP, which does not tell it.',
        }),
        bitrate: Type.Object({ total: Type.Integer({ description: 'Bits a second that came in.' }) }),
        location: Type.Object({
          ip: Type.Union([Type.String(), Type.Null()], { description: 'The address of the publisher.' }),
          region: Type.String({ description: 'Of the ingest.' }),
        }),
      }),
      {
        description:
          'Oldest first. Empty for sources that Sluice dials: ffmpeg reads them, and reports neither their bit rate nor what SRT counts.',
      },
    ),
  },
  { $id: 'IngestMonitoring' },
)
export type IngestMonitoring = Static<typeof IngestMonitoring>

const EncoderPace = Type.Object(
  {
    speed: Type.Union([Type.Number(), Type.Null()], {
      description: 'Seconds of media encoded in a second, over the last ten; null at the beginning.',
    }),
    lagSeconds: Type.Number({ description: 'How far it is behind its source.' }),
    droppedFrames: Type.Integer({
      description: 'Frames of the source that it could not take, since its process began.',
    }),
    cores: Type.Union([Type.Number(), Type.Null()], {
      description: 'Processors that it keeps busy; null where the system does not say.',
    }),
    overloaded: Type.Boolean({ description: 'It has been too slow for its source for ten seconds or more.' }),
    leftOut: Type.Array(Type.String(), { description: 'What of its ladder it leaves out so that the rest keeps up.' }),
  },
  { description: 'How its process keeps up; absent while it has none.' },
)

const TargetNow = Type.Object({
  id: Type.String(),
  index: Type.Integer({ description: 'Its place in the list, from 0.' }),
  label: Type.String(),
  url: Type.String({ description: 'Without secrets.' }),
  status: word(TARGET_STATUSES),
  since: time,
  retryOn: optional(time),
  problem: optional(Type.String({ description: 'Why it is `waiting`, `refused` or `failed`.' })),
  problemSentences: optional(saidAsData()),
  bitrateOut: optional(Type.Integer({ description: 'Bits a second that it is sent; absent while it is not live.' })),
  liveSeconds: Type.Integer({ description: 'How long it has taken media since the engine began to send it.' }),
  lastProblem: optional(Type.String({ description: 'The latest problem, also if it is over.' })),
  lastProblemSentences: optional(saidAsData()),
  lastProblemOn: optional(time),
})

export const EngineMonitoring = Type.Object(
  {
    id: Type.String(),
    status: word(ACTIVE_STATUSES),
    encoder: optional(EncoderPace),
    renditions: Type.Array(
      Type.Object({
        name: Type.String({ description: 'The label in the ladder.' }),
        metrics: Type.Array(
          Type.Object({
            time,
            framerate: Type.Union([Type.Number(), Type.Null()], { description: 'Frames per second, as counted.' }),
            bitrate: Type.Integer({ description: 'Bits per second, including audio.' }),
          }),
          { description: 'One of each segment, oldest first.' },
        ),
      }),
      { description: 'In the order of the ladder; those that were made in the last five minutes.' },
    ),
    restreams: Type.Array(TargetNow, { description: 'Its targets, while it makes media.' }),
  },
  { $id: 'EngineMonitoring' },
)
export type EngineMonitoring = Static<typeof EngineMonitoring>
