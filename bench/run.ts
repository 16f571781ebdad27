// npm run bench -- [--against COMMIT [--rounds N]] [NAME …]: runs the named benches, or all except the soak of half an
// hour, one after another. Exits with 1 if a target is missed.
// With --against it runs each bench in this tree and in that of COMMIT in turns, N times (3), and prints the medians of
// both and their ratio. Then it exits with 1 if a figure is worse by more than 5%: only pairs in one run on one machine
// can be compared.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readCommandLine } from '../scripts/commandLine.ts'
import { compareWith } from './lib/against.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.ts') && file !== 'run.ts')
  .map((file) => file.slice(0, -3))
const { values, positionals } = readCommandLine({
  options: { against: { type: 'string' }, rounds: { type: 'string', default: '3' } },
  allowPositionals: true,
})
const unknown = positionals.filter((name) => !names.includes(name))
if (unknown.length > 0) {
  console.error(`There is no bench named ${unknown.join(', ')}; there are: ${names.join(', ')}`)
  process.exit(2)
}
const chosen = positionals.length > 0 ? positionals : names.filter((one) => one !== 'soak')
if (values.against === undefined) {
  for (const name of chosen) {
    console.log(`\n# ${name}`)
    const { status } = spawnSync(process.execPath, [`${folder}${name}.ts`], { stdio: 'inherit' })
    if (status !== 0) process.exitCode = 1
  }
} else if (!compareWith(values.against, chosen, Math.max(1, Number(values.rounds) || 1))) process.exitCode = 1
