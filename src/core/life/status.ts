/** Where an engine stands; what the words mean to people is in `docs/channels.md`. */
export type EngineStatus = (typeof ENGINE_STATUSES)[number]

/** The most advanced first; the channel's status is the first of these that one of its engines has. */
export const ENGINE_STATUSES = [
  'playing',
  'ingesting',
  'waiting',
  'starting',
  'deploying',
  'stopping',
  'error',
  'stopped',
] as const

/** The status of a channel with engines in these; `stopped` without any. */
export function channelStatus(engines: Iterable<EngineStatus>): EngineStatus {
  const present = new Set(engines)
  return ENGINE_STATUSES.find((status) => present.has(status)) ?? 'stopped'
}

/** Somebody wants it to run: it may not be deleted, nor started again. */
export const isRunning = (status: EngineStatus): boolean => status !== 'stopped' && status !== 'stopping'
