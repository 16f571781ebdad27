import { expect, test } from 'vitest'
import { libraryUrl, postgresHosts, programUrl, shownDatabase } from '../../src/base/postgresUrl.ts'

test.each([
  ['postgres://db/sluice', ['postgres://db/sluice']],
  ['postgres:///sluice?host=/run/postgresql', ['postgres:///sluice?host=/run/postgresql']],
  ['postgres://u:a,b@db/sluice?x=1,2', ['postgres://u:a,b@db/sluice?x=1,2']],
  ['postgresql://u:p@one,two:5433/s', ['postgresql://u:p@one/s', 'postgresql://u:p@two:5433/s']],
  ['postgres://[::1]:5432,[::2]?a=b', ['postgres://[::1]:5432?a=b', 'postgres://[::2]?a=b']],
])('the hosts of %s each get a URL', (url, urls) => {
  expect(postgresHosts(url)).toEqual(urls)
})

test.each([
  ['postgres://ann:p%40ss@db1:5432,db2/sluice?sslpassword=x', 'postgres://db1:5432,db2/sluice'],
  ['postgresql://db.example.com', 'postgresql://db.example.com'],
  ['postgres://a@b:c@host/x#y', 'postgres://host/x'],
  ['/var/lib/sluice/named.db', '/var/lib/sluice/named.db'],
])('%s is shown without its login and parameters', (location, shown) => {
  expect(shownDatabase(location)).toBe(shown)
})

// The URL, that for the library, and that for pg_dump, pg_restore and psql.
test.each([
  ['/s', '/s', '/s'],
  ['/s?sslmode=require&application_name=a', '/s?sslmode=verify-full&application_name=a', null],
  ['/s?a=b%20c&sslmode=verify-ca', '/s?a=b%20c&sslmode=verify-full', null],
  ['/s?sslmode=disable', '/s?sslmode=disable', null],
  ['/s?sslmode=no-verify', '/s?sslmode=no-verify', '/s?sslmode=require'],
  ['/s?sslrootcert=/ca.pem&sslmode=no-verify&a=b', null, '/s?sslmode=require&a=b'],
  ['/s?sslmode=require&uselibpqcompat=true', null, '/s?sslmode=require'],
  ['/s?uselibpqcompat=true', null, '/s'],
])('%s says the same of TLS to the library, without a warning, and to programs, which lack no-verify', (...paths) => {
  const [url = '', library, program] = paths.map((path) => `postgres://u:p@db${path ?? paths[0]}`)
  expect([libraryUrl(url), programUrl(url)]).toEqual([library, program])
})
