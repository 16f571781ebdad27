import { expect, test } from 'vitest'
import { MediaHosts } from '../../../src/media/relay/processes/hosts.ts'
import type { Logger } from '../../../src/base/log.ts'

function hostsWith(publicAddresses: string[]) {
  const names = new Map<string, string[]>()
  const state = { own: (): string[] => ['10.1.2.3'], publicAddresses, nowMs: 0, asked: 0 }
  const messages: string[] = []
  const keep = (_: object, message: string): void => void messages.push(message)
  const log = { info: keep, warn: keep } as unknown as Logger
  const resolve = async (name: string): Promise<string[]> => {
    state.asked += 1
    const found = names.get(name)
    if (found === undefined) throw new Error('ENOTFOUND')
    return found
  }
  const hosts = new MediaHosts({
    host: '',
    publicAddresses: () => state.publicAddresses,
    resolve,
    now: () => state.nowMs,
    log,
    own: () => state.own(),
  })
  return { hosts, names, state, messages: () => messages }
}

test('another address of this machine is listened at with the next look, and logged once', async () => {
  const { hosts, state, messages } = hostsWith([])
  await hosts.look()
  expect([hosts.current, messages().length]).toEqual([{ kind: 'hosts', listen: ['10.1.2.3'], publicAddresses: [] }, 0])
  state.own = () => ['10.9.9.9', '2001:db8::1']
  await hosts.look()
  await hosts.look()
  expect(hosts.current.listen).toEqual(['10.9.9.9', '2001:db8::1'])
  expect(messages()).toEqual(['the addresses of this machine have changed; media is received at the new ones'])
})

test('a process without descriptors cannot read its addresses, which ended it: it keeps them, and says so once', async () => {
  const { hosts, state, messages } = hostsWith([])
  const read = state.own
  state.own = () => {
    throw new Error('EMFILE')
  }
  await hosts.look()
  await hosts.look()
  expect(hosts.current.listen).toEqual(['10.1.2.3'])
  state.own = read
  await hosts.look()
  expect(messages()).toEqual(['a job failed; it is tried again', 'a job works again'])
})

test('names among the announced addresses are resolved every minute, and keep their addresses without a name server', async () => {
  const { hosts, names, state, messages } = hostsWith(['198.51.100.7', 'home.example'])
  names.set('home.example', ['203.0.113.1'])
  await hosts.look()
  expect(hosts.current.publicAddresses).toEqual(['198.51.100.7', '203.0.113.1'])
  names.set('home.example', ['203.0.113.2'])
  state.nowMs = 59_999
  await hosts.look()
  expect([hosts.current.publicAddresses[1], state.asked]).toEqual(['203.0.113.1', 1])
  state.nowMs = 60_000
  await hosts.look()
  expect([hosts.current.publicAddresses[1], messages()]).toEqual([
    '203.0.113.2',
    ['the announced media addresses have changed'],
  ])
  names.clear()
  state.nowMs = 120_000
  await hosts.look()
  expect(hosts.current.publicAddresses[1]).toBe('203.0.113.2')
  const failed = 'a name in webrtc.publicAddresses could not be resolved'
  expect(messages().at(-1)).toBe(failed)
  state.nowMs += 60_000
  await hosts.look()
  expect(messages().filter((message) => message === failed)).toHaveLength(1)
})

test('a changed list of announced addresses applies with the next look', async () => {
  const { hosts, state } = hostsWith(['198.51.100.7'])
  await hosts.look()
  state.publicAddresses = ['198.51.100.8']
  await hosts.look()
  expect(hosts.current.publicAddresses).toEqual(['198.51.100.8'])
})
