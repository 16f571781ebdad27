import type { EncodingLoad } from '../../../services/encodingLoad.ts'
import type { Measured } from '../../../services/measured.ts'
import type { Context } from '../../../commands/context.ts'
import type { ActorOf } from './auth.ts'

/** What the routes of the channels interface need. */
export interface ChannelsApi {
  readonly ctx: Context
  readonly actorOf: ActorOf
  readonly measured: Measured
  readonly load: EncodingLoad | null
}

/** A request whose query the command checks. */
export interface AnyQuery {
  Querystring: Record<string, unknown>
}
