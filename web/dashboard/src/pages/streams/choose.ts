import type { StreamOnAir } from '../../live.ts'

type Health = StreamOnAir['health']

/** What can be wrong, the worst first. */
export const HEALTHS = ['stalled', 'impaired', 'uneven', 'steady'] as const satisfies readonly Health[]

/** What the list is sorted by; `true`: the largest comes first. */
const FIRST = { name: false, health: false, viewers: true, bitrate: true, started: true } as const

export type SortBy = keyof typeof FIRST

/** Which streams on the air are shown, and in which order. */
export interface Wanted {
  /** Part of the name. */
  readonly search: string
  readonly health: Health | undefined
  readonly protocol: string
  readonly sortBy: SortBy
  readonly isDescending: boolean
  /** 1 is the first. */
  readonly page: number
}

/** What an address asks for. Unknown values of an old link count as absent. */
export function wantedOf(query: URLSearchParams): Wanted {
  const sortBy = (Object.keys(FIRST) as SortBy[]).find((one) => one === query.get('sort')) ?? 'viewers'
  return {
    search: (query.get('search') ?? '').slice(0, 128),
    health: HEALTHS.find((one) => one === query.get('health')),
    protocol: query.get('protocol') ?? '',
    sortBy,
    isDescending: FIRST[sortBy] !== (query.get('order') === 'reverse'),
    page: Math.max(1, Math.trunc(Number(query.get('page'))) || 1),
  }
}

/** What the address says after a click on a column: it sorts by that, and a second click turns the order around. */
export function orderOf(by: string, { sortBy, isDescending }: Wanted): Record<string, string | undefined> {
  const isTurned = by === sortBy && isDescending === FIRST[sortBy]
  return { sort: by === 'viewers' ? undefined : by, order: isTurned ? 'reverse' : undefined, page: undefined }
}

const VALUES: Readonly<Record<Exclude<SortBy, 'name'>, (stream: StreamOnAir) => number>> = {
  health: ({ health }) => HEALTHS.indexOf(health),
  viewers: ({ viewers }) => viewers,
  bitrate: ({ bitrateIn = 0 }) => bitrateIn,
  started: ({ startedOn }) => Date.parse(startedOn),
}

/** The streams that are wanted, in their order. Equal ones are sorted by name. */
export function chosenOf(streams: readonly StreamOnAir[], wanted: Wanted): StreamOnAir[] {
  const { search, health, protocol, sortBy, isDescending } = wanted
  const part = search.toLowerCase()
  const found = streams.filter(
    (one) =>
      one.streamName.toLowerCase().includes(part) &&
      (health === undefined || one.health === health) &&
      (protocol === '' || one.protocol === protocol),
  )
  const turn = isDescending ? -1 : 1
  const byName = (a: StreamOnAir, b: StreamOnAir): number => (a.streamName < b.streamName ? -1 : 1)
  if (sortBy === 'name') return found.toSorted((a, b) => turn * byName(a, b))
  const valueOf = VALUES[sortBy]
  return found.toSorted((a, b) => turn * (valueOf(a) - valueOf(b)) || byName(a, b))
}
