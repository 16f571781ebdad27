import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { checkStore } from '../../src/cli/doctorStore.ts'
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
