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
