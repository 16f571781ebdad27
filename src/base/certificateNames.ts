/** A host as URLs write it: names in lower case, IPv6 addresses in brackets. Null: it is none. */
export const asUrlHost = (host: string): string | null =>
  URL.parse(`https://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}`)?.hostname ?? null

/**
 * Whether one of the names of a certificate is for a host. A wildcard stands for exactly one label (RFC 9525 section 6.3).
 * @param host as `asUrlHost` returns it
 */
export const areFor = (names: readonly string[], host: string): boolean => names.some((name) => isFor(name, host))

function isFor(name: string, host: string): boolean {
  if (!name.startsWith('*.')) return asUrlHost(name) === host
  const [, rest = ''] = /^[^.]+(\..+)$/.exec(host) ?? []
  return rest === name.slice(1).toLowerCase()
}
