import type { Cut } from '../../../media/sessionRegistry.ts'
import type { WebRtcParts } from './parts.ts'

/** Ends a session at the engine. The resource of one that moves says so. */
export const cutOf =
  ({ engine, resources }: Pick<WebRtcParts, 'engine' | 'resources'>): Cut =>
  ({ id }, reason) => {
    if (reason === 'moved') resources.move(id)
    return engine.end(id)
  }
