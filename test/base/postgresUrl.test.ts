import { expect, test } from 'vitest'
import { postgresHosts, shownDatabase } from '../../src/base/postgresUrl.ts'

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
