/** Whether a location of the database is the URL of a PostgreSQL server; else it is a file of SQLite. */
export const isPostgresUrl = (location: string): boolean => /^postgres(ql)?:\/\//.test(location)

/** A location of the database without its login and parameters, which may be secret. */
export function shownDatabase(location: string): string {
  if (!isPostgresUrl(location)) return location
  const [, scheme = '', authority = '', path = ''] = /^(\w+:\/\/)([^/?#]*)([^?#]*)/s.exec(location) ?? []
  return `${scheme}${authority.slice(authority.lastIndexOf('@') + 1)}${path}`
}

/**
 * One URL for each host of a URL such as `postgres://user:password@db1:5432,db2:5433/sluice`, in their order.
 * https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-MULTIPLE-HOSTS
 */
export function postgresHosts(url: string): [string, ...string[]] {
  const [, scheme = '', authority = '', rest = ''] = /^(\w+:\/\/)([^/?#]*)(.*)$/s.exec(url) ?? []
  const hostsAt = authority.lastIndexOf('@') + 1
  const login = authority.slice(0, hostsAt)
  const [first = '', ...others] = authority.slice(hostsAt).split(',')
  const urlOf = (host: string): string => `${scheme}${login}${host}${rest}`
  return [urlOf(first), ...others.map(urlOf)]
}

const SSL_MODE = /(?<=[?&]sslmode=)[^&#]*/

/**
 * The URL for the client library `pg`, which takes `prefer`, `require` and `verify-ca` for `verify-full`, with a warning at each
 * start. With `uselibpqcompat=true` it takes them as programs of PostgreSQL do.
 */
export const libraryUrl = (url: string): string =>
  isLikePrograms(url) ? url : url.replace(SSL_MODE, (mode) => (STRICT.has(mode) ? 'verify-full' : mode))

const STRICT = new Set(['prefer', 'require', 'verify-ca'])

/**
 * The URL for programs of PostgreSQL. They have no `no-verify`: their `require` encrypts without a check of the certificate, unless
 * an authority is named.
 */
export function programUrl(url: string): string {
  const own = without('uselibpqcompat', url)
  return /[?&]sslmode=no-verify(&|#|$)/.test(own) ? without('sslrootcert', own).replace(SSL_MODE, 'require') : own
}

/** The URL without a parameter. The others stay as they are: the programs read no `+` as a space. */
const without = (parameter: string, url: string): string =>
  url.replace(new RegExp(`([?&])${parameter}=[^&#]*&?`), '$1').replace(/[?&](?=#|$)/, '')

const isLikePrograms = (url: string): boolean => /[?&]uselibpqcompat=true(&|#|$)/.test(url)
