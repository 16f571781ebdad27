import type { Pull } from './types.ts'

/** A pull on demand ends this long after its stream was last watched. Its viewers have a pause to reload the player. */
export const DEMAND_MS = 20_000
/** How often watching is noted: at least twice within `DEMAND_MS`, so that one failed write ends nothing. */
const RENEW_MS = 5_000
/** How long a viewer waits for the source. Players of HLS give a playlist ten seconds and more. */
export const WAIT_MS = 8_000

type Demanded = Pick<Pull, 'when' | 'demandAtMs'>

/**
 * Whether the source is to be dialled. A demand lies ahead of now if the clock was put back after it. Then it is as stale as one that
 * is as old as it is ahead.
 */
export const isWanted = ({ when, demandAtMs }: Demanded, nowMs: number): boolean =>
  when === 'always' || Math.abs(nowMs - demandAtMs) < DEMAND_MS

/** Whether watching has to be noted again. */
export const isStale = ({ demandAtMs }: Demanded, nowMs: number): boolean => Math.abs(nowMs - demandAtMs) >= RENEW_MS

/**
 * Whether a viewer may ask for it. One that was refused three times is left alone until it is updated, because cameras lock
 * out clients that try again and again. One that has failed rests until no viewer has wanted it for `DEMAND_MS`.
 */
export const mayBeWanted = (
  { state, node, ...pull }: Demanded & Pick<Pull, 'state' | 'node'>,
  nowMs: number,
): boolean => node === null || !(state.status === 'refused' || (state.status === 'failed' && isWanted(pull, nowMs)))

/** Whether to wait for it makes sense: its next attempt comes in time. */
export const mayComeSoon = ({ state: { status, retryAtMs } }: Pick<Pull, 'state'>, nowMs: number): boolean =>
  status !== 'waiting' || retryAtMs === null || retryAtMs < nowMs + WAIT_MS
