// The container image, by the first of docker, buildah and podman that is there.
import { copyFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { at } from '../compile.mjs'
import { isInstalled, run } from './run.mjs'

export const imageTool = () => ['docker', 'buildah', 'podman'].find(isInstalled)

/** Builds the image of `app`, which `stage` returned. `base`: instead of the Debian that the Containerfile names. */
export function buildImage(app, name, { tool = imageTool(), base } = {}) {
  const context = dirname(app)
  copyFileSync(at('packaging/health.js'), join(context, 'health.js'))
  const args = base === undefined ? [] : ['--build-arg', `BASE=${base}`]
  // Only Docker's format has health checks.
  if (tool !== 'docker') args.push('--format', 'docker')
  const env = { ...process.env, BUILDAH_ISOLATION: process.env.BUILDAH_ISOLATION ?? 'chroot' }
  run(tool, ['build', '--quiet', ...args, '--tag', name, '--file', at('packaging/Containerfile'), context], { env })
}

/** Writes an archive for `docker load` and `podman load`. */
export function saveImage(name, file, tool = imageTool()) {
  if (tool === 'buildah') run(tool, ['push', '--quiet', name, `docker-archive:${file}:${name}`])
  else run(tool, ['save', '--output', file, name])
}
