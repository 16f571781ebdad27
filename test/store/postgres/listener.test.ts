import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { Hosts } from '../../../src/store/postgres/hosts.ts'
import { Listener } from '../../../src/store/postgres/listener.ts'
import { StopTimeout } from '../../../src/store/stopTimeout.ts'
import { until } from '../../support/until.ts'

test('a database that is away for long is a line of the log, and not one for each attempt to listen', async () => {
  let attempts = 0
  const server = createServer((socket) => {
    attempts += 1
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const lines: string[] = []
  const note = (_fields: object, message: string): void => void lines.push(message)
  const log = { info: note, warn: note, error: note }
  const hosts = new Hosts(`postgres://127.0.0.1:${(server.address() as AddressInfo).port}/none`)
  const listener = new Listener(hosts, { stopTimeout: new StopTimeout(), log }, () => undefined)
  void listener.start()
  await until(() => attempts >= 4)
  await listener.close()
  server.close()
  expect(lines).toEqual(['the connection that listens for changes was lost; polling meanwhile'])
})
