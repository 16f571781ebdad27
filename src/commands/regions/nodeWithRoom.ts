import type { StreamRef } from '../../core/streams/streamId.ts'
import { fraction } from '../../base/random.ts'
import { VERSION } from '../../base/version.ts'
import { regionsOfAll } from '../../core/clusters.ts'
import { freeNode } from '../../core/nodes/freeNode.ts'
import type { SessionContext } from '../context.ts'

/** The URL of another node that has room; null: there is none. @param regions those that it may be in; null: all */
export async function nodeWithRoom(
  { otherNodes, policy: { region }, random }: SessionContext,
  regions: readonly string[] | null,
): Promise<string | null> {
  return freeNode(await otherNodes.list(), { version: VERSION, region }, regions, fraction(random))
}

/** The regions whose nodes show a stream; null: all. */
export const regionsOfStream = (
  { sessions }: Pick<SessionContext, 'sessions'>,
  { accountId, streamName }: StreamRef,
): readonly string[] | null =>
  regionsOfAll([...sessions.feeds.ofStream(accountId, streamName), ...sessions.feeds.remotesOf(accountId, streamName)])
