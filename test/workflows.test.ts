import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

const root = new URL('../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }

interface Step {
  uses?: string
  run?: string
}
interface Workflow {
  permissions: Record<string, string>
  jobs: Record<string, { steps: Step[]; 'timeout-minutes': number }>
}

const workflows = readdirSync(new URL('.github/workflows/', root)).map((name) => ({
  name,
  ...(parse(read(`.github/workflows/${name}`)) as Workflow),
}))
const steps = workflows.flatMap(({ jobs }) => Object.values(jobs).flatMap((job) => job.steps))

test('workflows call .ci/run, and only scripts that there are', () => {
  const commands = steps.flatMap(({ run }) => run ?? [])
  expect(commands).toContain('.ci/run')
  for (const command of commands) {
    const [, script] = /^npm run (?:-s |--silent )?([\w:-]+)/.exec(command) ?? []
    if (script !== undefined) expect(scripts, command).toHaveProperty([script])
    if (command.startsWith('.')) expect(existsSync(new URL(command, root)), command).toBe(true)
  }
})

test('workflows name the version of each action, may only read, and end', () => {
  for (const { uses } of steps) if (uses !== undefined) expect(uses).toMatch(/^actions\/[a-z-]+@v\d+$/)
  for (const { name, permissions, jobs } of workflows) {
    expect(permissions, name).toEqual({ contents: 'read' })
    for (const job of Object.values(jobs)) expect(job['timeout-minutes'], name).toBeGreaterThan(0)
  }
})

/** Of each Debian and of Node; and those of a package that the setup finds by another program. */
const THERE = new Set(
  'apt-get bash dpkg-deb mount mv node script sh stdbuf tar umount which ffprobe gst-inspect-1.0'.split(' '),
)

test('each program that a test starts is there or comes with the setup, also on a machine that has nothing', () => {
  const starts = /\b(?:spawn|execFile)(?:Sync)?\(\s*'(?:\/usr\/bin\/)?([a-z][\w.-]*)'/g
  const started = globSync('test/**/*.ts', { cwd: root }).flatMap((path) =>
    [...read(path).matchAll(starts)].map(([, name = '']) => name),
  )
  expect(started.length).toBeGreaterThan(50)
  const setup = read('scripts/setup.mjs')
  const isBrought = (name: string): boolean => THERE.has(name) || setup.includes(`'${name}'`)
  expect([...new Set(started)].filter((name) => !isBrought(name))).toEqual([])
})

test('templates and the development container can be read, and call scripts that there are', () => {
  for (const name of readdirSync(new URL('.github/ISSUE_TEMPLATE/', root))) {
    expect(parse(read(`.github/ISSUE_TEMPLATE/${name}`)), name).toBeTypeOf('object')
  }
  const { postCreateCommand } = JSON.parse(read('.devcontainer/devcontainer.json')) as { postCreateCommand: string }
  for (const [, script = ''] of postCreateCommand.matchAll(/npm run ([\w:-]+)/g))
    expect(scripts).toHaveProperty([script])
})
