import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { checkPort } from '../../src/cli/doctorPort.ts'
import { checkStore, ownServer } from '../../src/cli/doctorStore.ts'
import { LEASE_MAX_MS } from '../../src/base/time.ts'
import { hostKeyOf } from '../../src/config/dataDirectory.ts'
import { loadConfig } from '../../src/config/load.ts'
import { startTestNode } from '../support/testNode.ts'

const dir = mkdtempSync(join(tmpdir(), 'sluice-doctor-store-'))
afterAll(() => rmSync(dir, { recursive: true }))

const loaded = loadConfig({ env: {}, flags: { data: { dir } } })
const config = loaded.ok ? loaded.value : expect.fail()

test('a damaged page is a failure, and a large file is named', async () => {
  writeFileSync(join(dir, 'sealing.key'), '')
  writeFileSync(join(dir, 'sluice.db'), 'x')
  const node = await startTestNode()
  const pages = vi
    .spyOn(node.ctx.store, 'checkPages')
    .mockResolvedValue({ state: 'damaged', problem: 'page 7 is never used' })
  const found = async () =>
    (await checkStore(config, (check) => check(node.ctx))).filter(({ check }) => check === 'store')
  expect(await found()).toMatchObject([{ outcome: 'FAIL', code: 'store_damaged' }])
  pages.mockResolvedValue({ state: 'large' })
  expect(await found()).toMatchObject([{ code: 'store' }, { outcome: 'ok', code: 'store_large' }])
  pages.mockRestore()
  expect(await found()).toMatchObject([{ outcome: 'ok', code: 'store' }])
  await node.close()
})

test('a server that has the port and does not answer is named as such, and not as another program', async () => {
  writeFileSync(join(dir, 'sealing.key'), '')
  writeFileSync(join(dir, 'sluice.db'), 'x')
  const [node, hung] = [await startTestNode(), createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')]
  await once(hung, 'listening')
  const { port } = hung.address() as AddressInfo
  const server = { ...config.server, host: '127.0.0.1', port }
  const check = () => checkPort({ ...config, server }, () => ownServer(config, (work) => work(node.ctx)))
  const add = (id: string, hostKey: string) =>
    node.ctx.store.transaction((tx) => tx.nodes.insert({ id, hostKey, pid: process.pid, url: null }, LEASE_MAX_MS))
  await add('elsewhere', 'another:/directory')
  expect((await check()).detail).toContain('is in use by another process')
  await add('hung', hostKeyOf(dir))
  expect(await check()).toMatchObject({ outcome: 'FAIL', code: 'port_hangs' })
  expect((await check()).detail).toContain(`the server of this data directory (process ${process.pid})`)
  hung.close()
  await node.close()
})

test('nodes with the same URL are named, but for one that another replaces', async () => {
  writeFileSync(join(dir, 'sealing.key'), '')
  writeFileSync(join(dir, 'sluice.db'), 'x')
  const node = await startTestNode()
  const nodeUrl = 'https://live.example.com'
  const add = (id: string) =>
    node.ctx.store.transaction((tx) =>
      tx.nodes.insert({ id, hostKey: `${id}:/data`, pid: 1, url: nodeUrl }, LEASE_MAX_MS),
    )
  const found = async () =>
    (await checkStore({ ...config, server: { ...config.server, nodeUrl } }, (check) => check(node.ctx))).find(
      ({ check }) => check === 'handover',
    )
  await add('first')
  await add('second')
  expect(await found()).toMatchObject({ outcome: 'warn', code: 'handover_same_url' })
  expect((await found())?.detail).toContain(`2 nodes have the server.nodeUrl ${nodeUrl}`)
  await node.ctx.store.transaction((tx) => tx.nodes.drain('first'))
  expect(await found()).toMatchObject({ code: 'handover_unused' })
  await node.close()
})
