/**
 * Time from process start to `ready`, and resident memory of an idle server, against our own limits: from the first
 * start after the set-up of `npm start`, which builds the program.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { median, report } from './lib/report.ts'
import { oneStart } from './lib/start.ts'

const STARTS = 5
const START_LIMIT_MS = 1500
const MEMORY_LIMIT_MB = 125

const entry = fileURLToPath(new URL('../bin/sluice.js', import.meta.url))
const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
spawnSync(process.execPath, [fileURLToPath(new URL('../scripts/setup.mjs', import.meta.url))], { stdio: 'inherit' })
const starts: number[] = []
const memories: number[] = []
for (let round = 0; round < STARTS; round++) {
  // Memory is measured twice: at the first start, which creates the store, and at the last one.
  const idle = round === 0 || round === STARTS - 1
  const { startMs, memoryMb } = await oneStart(process.execPath, entry, join(dir, 'data'), idle)
  starts.push(startMs)
  if (memoryMb > 0) memories.push(memoryMb)
}
rmSync(dir, { recursive: true })

const startMs = median(starts)
report({
  what: 'start to ready, of the limit',
  ratio: startMs / START_LIMIT_MS,
  target: '<= 1',
  met: startMs <= START_LIMIT_MS,
  detail: `${Math.round(startMs)} ms of ${START_LIMIT_MS} ms, ${Math.round(starts[0] ?? 0)} ms the first time`,
})
const memoryMb = Math.max(...memories)
report({
  what: 'resident memory of an idle server, of the limit',
  ratio: memoryMb / MEMORY_LIMIT_MB,
  target: '<= 1',
  met: memoryMb <= MEMORY_LIMIT_MB,
  detail: `${memories.map(Math.round).join(' and then ')} MB of ${MEMORY_LIMIT_MB} MB`,
})
