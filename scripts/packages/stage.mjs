// The tarball, and the same installed in a directory as the Debian package and the container image take it.
import {
  chmodSync,
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
import { at } from '../compile.mjs'

/** Makes the tarball for npm of what `npm run build` built. Returns its path. */
export function packTarball(directory) {
  mkdirSync(directory, { recursive: true })
  const [{ filename }] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', directory]))
  return join(directory, filename)
}

/** Installs a tarball into `directory/sluice`, with the packages of the lock file and the pinned Node. */
export function stage(tarball, directory) {
  const app = join(directory, 'sluice')
  rmSync(app, { recursive: true, force: true })
  mkdirSync(app, { recursive: true })
  run('tar', ['-xzf', tarball, '--strip-components=1', '--no-same-owner', '-C', app])
  copyFileSync(at('package-lock.json'), join(app, 'package-lock.json'))
  run('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'], { cwd: app })
  prune(join(app, 'node_modules'))
  dropDevelopment(app)
  chmodSync(join(app, 'bin/sluice.js'), 0o755)
  return app
}

/** What is installed has no packages for development, and the bill of materials must not miss them. */
function dropDevelopment(app) {
  const { devDependencies: _, scripts: __, ...installed } = JSON.parse(readFileSync(join(app, 'package.json'), 'utf8'))
  writeFileSync(join(app, 'package.json'), `${JSON.stringify(installed, null, 2)}\n`)
  for (const name of ['package-lock.json', 'node_modules/.package-lock.json']) rmSync(join(app, name))
}

/** The headers and manuals of Node, and source maps: half of what is installed, and nothing reads them. */
function prune(packages) {
  for (const name of readdirSync(packages).filter((one) => one.startsWith('node-linux-')))
    for (const part of ['include', 'share', 'CHANGELOG.md', 'README.md'])
      rmSync(join(packages, name, part), { recursive: true, force: true })
  for (const path of readdirSync(packages, { recursive: true }))
    if (path.endsWith('.map')) rmSync(join(packages, path), { force: true })
  if (!existsSync(join(packages, '.bin/node'))) throw new Error('npm has not installed the pinned Node')
}
