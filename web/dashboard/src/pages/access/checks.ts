/** The checks of every decision in their order. The first that fails ends it. That of limits of viewers comes after them, if there are any. */
export const CHECKS: readonly string[] = [
  'token',
  'active',
  'expiry',
  'streamName',
  'origin',
  'address',
  'country',
  'rtmpIpFilters',
  'region',
  'binding',
]
