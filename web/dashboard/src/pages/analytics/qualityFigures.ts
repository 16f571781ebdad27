/** What the figures of the page are made of. */
interface Played {
  readonly playedSeconds: number
  readonly stalls: number
  readonly stalledSeconds: number
}

interface Stalled {
  readonly stalls: number
  readonly cmcd: { readonly starved: number }
}

/** Of the time that viewers looked at the player, 0 to 1; null: there was none. */
export function stalledShare({ playedSeconds, stalledSeconds }: Played): number | null {
  const all = playedSeconds + stalledSeconds
  return all === 0 ? null : stalledSeconds / all
}

/** Stalls in an hour of pictures that move; null: there was none. */
export const stallsPerHour = ({ playedSeconds, stalls }: Played): number | null =>
  playedSeconds === 0 ? null : (3600 * stalls) / playedSeconds

/** Of players that report, and of others that say with CMCD how often their buffer ran empty. */
export const stallsOf = ({ stalls, cmcd }: Stalled): number => stalls + cmcd.starved

export const failuresOf = (failures: Readonly<Record<string, number>>): number =>
  Object.values(failures).reduce((sum, n) => sum + n, 0)
