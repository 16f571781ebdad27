import { type Static, Type } from 'typebox'
import { optional, word } from './fields.ts'
import { LIVE_STATUSES } from './types.ts'

export const ChannelMonitoring = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    status: word(LIVE_STATUSES, 'The most advanced status of its engines.'),
    ingests: Type.Array(Type.Object({ id: Type.String(), protocol: word(['rtmp', 'srt']) })),
    engines: Type.Array(
      Type.Object({
        id: Type.String(),
        status: word(LIVE_STATUSES),
        statusMessage: optional(Type.String({ description: 'Why it is in `error`, or what it waits for.' })),
      }),
    ),
    distributions: Type.Array(Type.Object({ id: Type.String(), status: word(['enabled', 'disabled']) })),
  },
  { $id: 'ChannelMonitoring' },
)
export type ChannelMonitoring = Static<typeof ChannelMonitoring>
