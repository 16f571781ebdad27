/** A stream of an account. */
export interface StreamRef {
  readonly accountId: string
  readonly streamName: string
}

/** `accountId/streamName`: the id of a stream in the interfaces, and its key in memory and in the media processes. */
export const streamIdOf = ({ accountId, streamName }: StreamRef): string => `${accountId}/${streamName}`
