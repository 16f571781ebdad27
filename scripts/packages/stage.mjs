// The tarball, and the same installed in a directory as the Debian package and the container image take it.
import {
  accessSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { run } from './run.mjs'
import { BUNDLED } from '../build-program.mjs'
import { at } from '../compile.mjs'

/**
 * Makes the tarball for npm of what `npm run build` built, without what only the repository needs. Returns its path.
 */
export function packTarball(directory) {
  const unpacked = join(directory, 'package')
  const whole = pack(at('.'), directory)
  unpack(whole, unpacked)
  const {
    devDependencies: _,
    scripts: __,
    dependencies,
    ...others
  } = JSON.parse(readFileSync(join(unpacked, 'package.json'), 'utf8'))
  const installed = { ...others, dependencies: withoutBundled(dependencies) }
  writeFileSync(join(unpacked, 'package.json'), `${JSON.stringify(installed, null, 2)}\n`)
  rmSync(whole)
  const tarball = pack(unpacked, directory)
  rmSync(unpacked, { recursive: true })
  return tarball
}

const withoutBundled = (dependencies) =>
  Object.fromEntries(Object.entries(dependencies).filter(([name]) => !BUNDLED.includes(name)))

function pack(source, directory) {
  const [{ filename }] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', directory], { cwd: source }))
  return join(directory, filename)
}

function unpack(tarball, directory) {
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  run('tar', ['-xzf', tarball, '--strip-components=1', '--no-same-owner', '-C', directory])
}

/**
 * Installs a tarball into `directory/sluice`, with the packages of the lock file, and with the pinned Node and the addons of
 * one processor. `arch`: as Node names it.
 */
export function stage(tarball, directory, arch = process.arch) {
  const app = join(directory, 'sluice')
  unpack(tarball, app)
  const installed = readFileSync(join(app, 'package.json'))
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(at(name), join(app, name))
  const machine = arch === process.arch ? [] : ['--os=linux', `--cpu=${arch}`]
  run('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--silent', ...machine], { cwd: app })
  writeFileSync(join(app, 'package.json'), installed)
  for (const name of ['package-lock.json', 'node_modules/.package-lock.json']) rmSync(join(app, name))
  prune(join(app, 'node_modules'))
  pruneAddons(join(app, 'build/native'), arch)
  return app
}

/** Of hls.js the player has these (src/edge/http/player/routes.ts), and the package of npm has 20 builds. */
const HLS_JS = ['hls.min.mjs', 'hls.light.min.mjs']

/**
 * What is bundled, the headers and manuals of Node, source maps and the rest of hls.js: half of what is installed, and nothing
 * reads it.
 */
function prune(packages) {
  for (const name of BUNDLED) rmSync(join(packages, name), { recursive: true })
  for (const name of readdirSync(packages).filter((one) => one.startsWith('node-linux-')))
    for (const part of ['include', 'share', 'CHANGELOG.md', 'README.md'])
      rmSync(join(packages, name, part), { recursive: true, force: true })
  for (const path of readdirSync(packages, { recursive: true }))
    if (path.endsWith('.map')) rmSync(join(packages, path), { force: true })
  rmSync(join(packages, 'hls.js/src'), { recursive: true })
  const builds = join(packages, 'hls.js/dist')
  for (const name of readdirSync(builds)) if (!HLS_JS.includes(name)) rmSync(join(builds, name))
  for (const name of HLS_JS) accessSync(join(builds, name))
  if (!existsSync(join(packages, '.bin/node'))) throw new Error('npm has not installed the pinned Node')
}

/** There are none at all if no compiler was there. */
function pruneAddons(folder, arch) {
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder)) if (!name.endsWith(`-${arch}.node`)) rmSync(join(folder, name))
}
