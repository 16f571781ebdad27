import type { Channel, Engine } from '#api/channels.ts'
import type { StateKind } from '../../parts/state.tsx'

type Status = Channel['status']

/** The shape and colour of each status. */
export const STATUS: Readonly<Record<Status, StateKind>> = {
  playing: 'live',
  ingesting: 'busy',
  waiting: 'busy',
  starting: 'busy',
  deploying: 'busy',
  stopping: 'busy',
  error: 'error',
  stopped: 'off',
}

/** True: the channel or the engine was started and not yet stopped. */
export const isRunning = ({ status }: Pick<Channel | Engine, 'status'>): boolean =>
  status !== 'stopped' && status !== 'stopping'
