/** Whether an address is of this machine alone, also as IPv4 in IPv6, which sockets of both families report. */
export const isLoopback = (address: string): boolean =>
  address === '::1' || address.startsWith('127.') || address.startsWith('::ffff:127.')
