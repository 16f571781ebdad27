import { afterEach, expect, test } from 'vitest'
import { namesOfSystem, publicNames } from '../../src/net/resolve.ts'
import { NameServer } from '../delivery/support/nameServer.ts'
import { until } from '../support/until.ts'

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

test('a name server that drops queries for IPv6 delays no answer for IPv4', async () => {
  const server = new NameServer(['127.0.0.2'])
  stops.push(() => server.stop())
  server.dropsOthers = true
  const resolve = publicNames([await server.start()])
  expect(await resolve('half.example.com', new AbortController().signal)).toEqual(['127.0.0.2'])
})

test('names whose servers are silent take turns, so that they leave threads of the system for others', async () => {
  const lookups: string[] = []
  const over = new Map<string, (addresses: string[]) => void>()
  const resolve = namesOfSystem({
    isSilent: async (name) => name.startsWith('silent'),
    lookUp: (name) => {
      lookups.push(name)
      return name === 'database' ? Promise.resolve(['192.0.2.1']) : new Promise((found) => over.set(name, found))
    },
  })
  const { signal } = new AbortController()
  const given = new AbortController()
  const first = resolve('silent1', signal)
  const second = resolve('silent2', given.signal)
  const third = resolve('silent3', signal)
  expect(await resolve('database', signal)).toEqual(['192.0.2.1'])
  expect(lookups.toSorted()).toEqual(['database', 'silent1'])
  // Who asked for the second gives up before its turn.
  given.abort()
  over.get('silent1')?.([])
  expect([await first, await second]).toEqual([[], []])
  await until(() => over.has('silent3'))
  over.get('silent3')?.(['192.0.2.3'])
  expect([await third, lookups.includes('silent2')]).toEqual([['192.0.2.3'], false])
})
