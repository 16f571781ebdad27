/**
 * Size, start and idle memory of what the packages install, against our own limits. The Debian package and the container
 * image have the same program as the tarball.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build, buildDeb, packTarball, stage } from '../scripts/packages.mjs'
import { median, report } from './lib/report.ts'
import { oneStart } from './lib/start.ts'

const STARTS = 5
const LIMITS = { tarballMb: 1.95, installedMb: 215, debMb: 60, startMs: 1000, memoryMb: 110 }

const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
process.on('exit', () => rmSync(dir, { recursive: true }))
await build()
const tarball = packTarball(dir)
const app = stage(tarball, dir)

const megabytes = (path: string): number => statSync(path).size / 1e6
against('the tarball', megabytes(tarball), LIMITS.tarballMb, 'MB')
against('the Debian package', megabytes(buildDeb(app, dir)), LIMITS.debMb, 'MB')
const kilobytes = execFileSync('du', ['-sk', app], { encoding: 'utf8' }).split('\t', 1)
against('what it installs, its Node included', (Number(kilobytes) * 1024) / 1e6, LIMITS.installedMb, 'MB')

const starts = []
const [node, entry] = [join(app, 'node_modules/.bin/node'), join(app, 'bin/sluice.js')]
for (let round = 0; round < STARTS; round++) starts.push(await oneStart(node, entry, join(dir, 'data'), true))
against('start to ready', median(starts.map(({ startMs }) => startMs)), LIMITS.startMs, 'ms')
against('resident memory of an idle server', median(starts.map(({ memoryMb }) => memoryMb)), LIMITS.memoryMb, 'MB')

function against(what: string, value: number, limit: number, unit: string): void {
  const ratio = value / limit
  const detail = `${value.toFixed(value < 10 ? 1 : 0)} ${unit} of ${limit} ${unit}`
  report({ what: `${what}, of the limit`, ratio, target: '<= 1', met: ratio <= 1, detail })
}
