import { spawn, type SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { GLIBC, run, writeSbom } from '../../scripts/packages.mjs'
import { missingCompiler } from './machine.ts'
import { expectMedia, ownPorts, isReady, type Ports, settingsOf, statusOf } from './media.ts'
import { architectureOf, filesIn, minor, newestGlibc, programsIn } from './programs.ts'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const { tarball, app } = inject('packages')
const folder = mkdtempSync(join(tmpdir(), 'sluice-tarball-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** As the user has it: with the Node and the npm of the system, and nothing of this repository. */
const env = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(SLUICE_|npm_|VITEST|NODE_(?!EXTRA))/.test(name)),
  ),
  PATH: (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((path) => !path.startsWith(repository))
    .join(delimiter),
}
const at = (cwd: string, settings: Record<string, string> = {}): SpawnOptions => ({
  cwd,
  env: { ...env, ...settings },
  stdio: ['ignore', 'pipe', 'inherit'],
})

const newFolder = (): string => mkdtempSync(join(folder, 'in-'))

/** Starts a server, and waits until it is ready. */
async function serve(program: string, args: string[], cwd: string, ports: Ports, path = env.PATH) {
  const server = spawn(program, [...args, 'serve'], at(cwd, { ...settingsOf(ports), PATH: path }))
  let log = ''
  server.stdout?.setEncoding('utf8').on('data', (text: string) => (log += text))
  await isReady(ports)
  return { server, log: () => log }
}

describe('the tarball', () => {
  const files = run('tar', ['-tzf', tarball]).trim().split('\n')

  test('has the program, the pages and the addons, and no test, no TypeScript and no source map', () => {
    expect(
      files.filter((name) => /^package\/(docs|src)|\/(test|bench|scripts)\/|(?<!\.d)\.ts$|\.map$|\.env/.test(name)),
    ).toEqual([])
    for (const name of [
      'bin/sluice.js',
      'dist/main.js',
      'dist/store/backup/thread.js',
      'dist/store/sqlite/inspection/thread.js',
      'dist/store/sqlite/reports/thread.js',
      'dist/store/leases/thread.js',
      'dist/program/main.js',
      'dist/media/relay/processes/process.js',
      'dist/sign.d.ts',
      'dist/client/index.js',
      'build/dashboard/index.html',
      'build/dashboard/licenses.md',
      'build/docs/index.html',
      'build/docs/licenses.md',
      'web/trust/authority.html',
      'build/player/player.js.br',
      'dist/program/licenses.md',
      'web/demo/index.html',
    ])
      expect(files).toContain(`package/${name}`)
  })

  test('has the addons for each processor that this machine has a compiler for', () => {
    const ours = ['x64', 'arm64'].filter((arch) => arch === process.arch || missingCompiler(arch) === null)
    const wanted = ours.flatMap((arch) =>
      ['fanout', 'udp', 'splice', 'memory'].map((addon) => `package/build/native/${addon}-linux-${arch}.node`),
    )
    expect(files.filter((name) => name.endsWith('.node')).sort()).toEqual(wanted.sort())
  })

  test('has a program of characters that V8 keeps in one byte each', () => {
    const programs = filesIn(join(app, 'dist/program'))
    expect(programs.length).toBeGreaterThan(10)
    for (const path of programs) expect(readFileSync(path, 'utf8')).not.toMatch(/[^\0-\xff]/)
  })

  test('has each page and script for browsers in one form', () => {
    expect(files.filter((name) => files.includes(`${name}.br`) || /\.gz$|\/player\/hls\./.test(name))).toEqual([])
  })

  test('needs no package that its program has, and its bill of materials has them all', () => {
    const { dependencies } = JSON.parse(readFileSync(join(app, 'package.json'), 'utf8'))
    const bundled = [...readFileSync(join(app, 'dist/program/licenses.md'), 'utf8').matchAll(/^## (\S+) - /gm)].map(
      ([, name]) => name,
    )
    expect(bundled).toEqual(['kysely', 'typebox'])
    const isInstalled = (name = ''): boolean => name in dependencies || existsSync(join(app, 'node_modules', name))
    expect(bundled.filter(isInstalled)).toEqual([])
    const sbom = join(folder, 'sbom.json')
    writeSbom(app, sbom)
    const { components } = JSON.parse(readFileSync(sbom, 'utf8')) as { components: { name: string }[] }
    const names = components.map(({ name }) => name)
    expect(names).toEqual(
      expect.arrayContaining([...Object.keys(dependencies), ...bundled, 'preact', 'uplot', 'minisearch']),
    )
  })

  test('takes at most 1.95 MB, of which the documentation takes at most 0.7 MB', () => {
    const ofDocs = filesIn(join(app, 'build/docs')).map((path) => statSync(path).size)
    expect(ofDocs.reduce((sum, size) => sum + size, 0)).toBeLessThan(700_000)
    expect(statSync(tarball).size).toBeLessThan(1_950_000)
  })

  test('has nothing that needs a newer C library than the Debian package names', () => {
    const programs = programsIn(app)
    expect(programs).not.toEqual([])
    for (const path of programs) expect(architectureOf(path), path).toBe(process.arch)
    for (const path of programs) expect(newestGlibc(path), path).toBeLessThanOrEqual(minor(GLIBC))
  })
})

test('installed globally it works from any directory, and writes nothing into its own', async () => {
  const prefix = newFolder()
  run('npm', ['install', '--global', '--prefix', prefix, '--no-audit', '--no-fund', tarball], at(folder))
  const sluice = join(prefix, 'bin/sluice')
  const installed = filesIn(prefix)
  const cwd = newFolder()
  const cli = async (...argv: string[]): Promise<string> => run(sluice, argv, at(cwd)).trim()
  expect(await cli('--version')).toMatch(/^\d+\.\d+\.\d+$/)

  const token = await cli('token', 'create', '--label', 'studio', '--stream', 'show')
  const ports = await ownPorts()
  const { server, log } = await serve(sluice, [], cwd, ports)
  for (const path of [
    '/dashboard/',
    '/demo',
    '/player.js',
    '/player/hls.js',
    '/client.js',
    '/api/docs',
    '/docs/',
    '/api/openapi.json',
    '/trust',
  ])
    expect(await statusOf(ports, path), path).toBe(200)
  await expectMedia({ ports, cli }, token)
  server.kill('SIGTERM')
  expect(await once(server, 'close')).toEqual([0, null])
  expect(log()).not.toContain('in JavaScript')
  expect(readdirSync(cwd)).toEqual(['data'])
  expect(filesIn(prefix)).toEqual(installed)
})

// The oldest one that npm runs here is that of the system, above. The first of these is too old for Sluice itself.
test.each(['22.23.3', '24.21.0'])('installed with Node %s it serves media, and ends on SIGTERM', async (version) => {
  const place = newFolder()
  const name = `node-linux-${process.arch}`
  run('npm', ['install', '--prefix', place, '--no-audit', '--no-fund', `${name}@${version}`], at(place))
  const path = [join(place, 'node_modules', name, 'bin'), env.PATH].join(delimiter)
  expect(run('node', ['--version'], at(place, { PATH: path })).trim()).toBe(`v${version}`)
  const prefix = newFolder()
  const install = ['install', '--global', '--prefix', prefix, '--no-audit', '--no-fund', tarball]
  run('npm', install, at(place, { PATH: path }))
  const [sluice, cwd, ports] = [join(prefix, 'bin/sluice'), newFolder(), await ownPorts()]
  const cli = async (...argv: string[]): Promise<string> => run(sluice, argv, at(cwd, { PATH: path })).trim()
  const token = await cli('token', 'create', '--label', 'studio', '--stream', 'show')
  const { server } = await serve(sluice, [], cwd, ports, path)
  await expectMedia({ ports, cli }, token)
  server.kill('SIGTERM')
  expect(await once(server, 'close')).toEqual([0, null])
})

test('installed in a project npx starts it, and takes it along when it ends', async () => {
  const project = newFolder()
  run('npm', ['install', '--prefix', project, '--no-audit', '--no-fund', tarball], at(project))
  // npm puts the packages beside one another here, the pinned Node too.
  expect(existsSync(join(project, 'node_modules/sluice/node_modules/fastify'))).toBe(false)
  const ports = await ownPorts()
  const { server } = await serve('npx', ['sluice'], project, ports)
  server.kill('SIGTERM')
  await once(server, 'close')
  await expect.poll(() => statusOf(ports, '/healthz')).toBe(0)
  const signed = `import('sluice/sign').then((sign) => console.log(Object.keys(sign).join()))`
  expect(run(process.execPath, ['-e', signed], at(project))).toContain('signSubscribeToken')
})
