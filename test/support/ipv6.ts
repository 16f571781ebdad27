import { networkInterfaces } from 'node:os'

/**
 * Whether this machine has IPv6, which most containers have not. A test that needs it is not defined there, so that it does not count
 * as skipped.
 */
export const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))

/** Kinds of sockets, each with the loopback address. */
export const UDP_KINDS: readonly (readonly ['udp4' | 'udp6', string])[] = [
  ['udp4', '127.0.0.1'],
  ...(hasIpv6 ? ([['udp6', '::1']] as const) : []),
]
