// npm run bench -- [NAME …]: runs the named benches, or all except the soak of half an hour, one after another. Exits
// with 1 if a target is missed.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'

const folder = new URL('.//', import.meta.url)
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.ts') && file !== 'run.ts')
  .map((file) => file.slice(0, -3))
const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !names.includes(name))
if (unknown.length > 0) {
  console.error(`There is no bench named ${unknown.join(', ')}; there are: ${names.join(', ')}`)
  process.exit(2)
}
for (const name of asked.length > 0 ? asked : names.filter((one) => one !== 'soak')) {
  console.log(`\n# ${name}`)
  const { status } = spawnSync(process.execPath, [new URL(`${name}.ts`, folder).pathname], { stdio: 'inherit' })
  if (status !== 0) process.exitCode = 1
}
