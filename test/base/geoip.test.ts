import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openCountryDatabase } from '../../src/base/geoip.ts'
import { countryFile } from '../support/countryFile.ts'
import { silentLog } from '../support/log.ts'

test('a file with IPv4 alone knows no country of an IPv6 address, whose first bytes look like an IPv4 address', () => {
  const folder = mkdtempSync(join(tmpdir(), 'geoip-'))
  const path = join(folder, 'countries.mmdb')
  writeFileSync(path, countryFile('DE'))
  const countries = openCountryDatabase(path, silentLog)
  rmSync(folder, { recursive: true })
  expect(['192.0.2.1', '2001:db8::1', '::1'].map((address) => countries.countryOf(address))).toEqual(['DE', null, null])
})

test('a file that is gone keeps its countries, and its reload fails, so that the log has one line of it and not one every five seconds', () => {
  const folder = mkdtempSync(join(tmpdir(), 'geoip-'))
  const path = join(folder, 'countries.mmdb')
  writeFileSync(path, countryFile('DE'))
  const countries = openCountryDatabase(path, silentLog)
  rmSync(folder, { recursive: true })
  expect(() => countries.reload()).toThrow(`${path} cannot be read; the old data stays in use`)
  expect(countries.countryOf('192.0.2.1')).toBe('DE')
})
