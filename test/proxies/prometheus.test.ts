import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { findProgram } from './programs.ts'

const promtool = findProgram('promtool', ['prometheus'])
const rules = fileURLToPath(new URL('../../packaging/prometheus/sluice.rules.yaml', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'sluice-rules-'))
afterAll(() => rmSync(folder, { recursive: true }))

function check(file: string): { status: number | null; stderr: string } {
  return spawnSync(promtool?.path ?? '', ['check', 'rules', file], { encoding: 'utf8', env: promtool?.env })
}

test.skipIf(promtool === null)('Prometheus accepts the published alerts, and refuses them with a mistake', () => {
  expect(check(rules)).toMatchObject({ status: 0, stderr: '' })
  const broken = join(folder, 'broken.yaml')
  writeFileSync(broken, readFileSync(rules, 'utf8').replace('sum by (instance)', 'sum by instance)'))
  expect(check(broken)).toMatchObject({ status: 1, stderr: expect.stringContaining('SluiceErrors') })
})
