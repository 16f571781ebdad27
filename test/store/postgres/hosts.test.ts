import { expect, test, vi } from 'vitest'
import { ReadOnlyServer } from '../../../src/store/postgres/errors.ts'
import { Hosts } from '../../../src/store/postgres/hosts.ts'

const hostsOf = (list: string) => new Hosts(`postgres://${list}/sluice`)

/** Opens nothing: each host fails with its error. */
const refusing = (hosts: Hosts, errors: Record<string, Error>) =>
  vi.fn(() => {
    const { current } = hosts
    hosts.failed(current)
    return Promise.reject(errors[new URL(current).host] ?? new Error('of no host'))
  })

test('each host is tried once, and the one that was found is tried first the next time', async () => {
  const hosts = hostsOf('one,two,three')
  const open = vi.fn(async () => {
    const { current } = hosts
    if (current.includes('three')) return current
    hosts.failed(current)
    throw new ReadOnlyServer()
  })
  expect(await hosts.each(open)).toBe('postgres://three/sluice')
  expect(open).toHaveBeenCalledTimes(3)
  await hosts.each(open)
  expect(open).toHaveBeenCalledTimes(4)
})

test.each(['full,standby', 'standby,full'])('of %s the primary says why no connection opens', async (list) => {
  const full = new Error('sorry, too many clients already')
  const hosts = hostsOf(list)
  const open = refusing(hosts, { full, standby: new ReadOnlyServer() })
  await expect(hosts.each(open)).rejects.toBe(full)
  expect(open).toHaveBeenCalledTimes(2)
})

test('a failure that is not of the host is not tried at the next one', async () => {
  const open = vi.fn(() => Promise.reject(new Error('all connections are in use')))
  await expect(hostsOf('one,two').each(open)).rejects.toThrow('in use')
  expect(open).toHaveBeenCalledOnce()
})

test('connections that failed together move on by one host', () => {
  const hosts = hostsOf('one,two,three')
  const { current } = hosts
  hosts.failed(current)
  hosts.failed(current)
  expect(hosts.current).toBe('postgres://two/sluice')
})
