/** A stream of an account. */
export interface StreamRef {
  readonly accountId: string
  readonly streamName: string
}

/** `accountId/streamName`: the id of a stream in the interfaces, and its key in memory and in the media processes. */
export const streamIdOf = ({ accountId, streamName }: StreamRef): string => `${accountId}/${streamName}`

/** One of the sources of a stream. */
export interface SourceRef extends StreamRef {
  /** Null: the one without a name. */
  readonly sourceId: string | null
}

export const isSameSource = (a: SourceRef, b: SourceRef): boolean =>
  a.accountId === b.accountId && a.streamName === b.streamName && a.sourceId === b.sourceId
