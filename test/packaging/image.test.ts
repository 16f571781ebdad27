import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { buildImage, run } from '../../scripts/packages.mjs'
import { missingForContainers } from './machine.ts'
import { expectMedia, freePorts, isReady, settingsOf } from './media.ts'

const { app, debian } = inject('packages')
const BASE = 'localhost/sluice-base'
const IMAGE = 'localhost/sluice:test'

test('the container file ends as a user without rights, and has a health check', () => {
  const lines = readFileSync(new URL('../../packaging/Containerfile', import.meta.url), 'utf8').split('\n')
  expect(lines.filter((line) => /^(USER|STOPSIGNAL|ENTRYPOINT)/.test(line))).toEqual([
    'USER 10001:10001',
    'STOPSIGNAL SIGTERM',
    'ENTRYPOINT ["tini", "--", "sluice"]',
  ])
  expect(lines.some((line) => line.startsWith('HEALTHCHECK '))).toBe(true)
})

if (debian !== null && missingForContainers() === null) {
  describe('the image', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-image-'))
    const storage = join(folder, 'storage.conf')
    const settings = { CONTAINERS_STORAGE_CONF: storage }

    /** Limits that a container in a container may set, and its network. */
    const nested = ['--ulimit', 'nofile=4096:4096', '--ulimit', 'nproc=4096:4096', '--network', 'host']

    const podman = (...args: string[]): string =>
      run('podman', ['--runtime', 'runc', '--cgroup-manager', 'cgroupfs', ...args], {
        env: { ...process.env, ...settings },
        stdio: ['ignore', 'pipe', 'pipe'],
      }).trim()

    beforeAll(() => {
      const place = `driver = "overlay"\ngraphroot = "${folder}/graph"\nrunroot = "${folder}/run"`
      writeFileSync(storage, `[storage]\n${place}\n`)
      Object.assign(process.env, settings)
      podman('import', '--quiet', debian, BASE)
      buildImage(app, IMAGE, { tool: 'buildah', base: BASE })
    })
    afterAll(() => {
      podman('rm', '--all', '--force', '--time', '0')
      podman('rmi', '--all', '--force')
      podman('volume', 'prune', '--force')
      delete process.env['CONTAINERS_STORAGE_CONF']
      rmSync(folder, { recursive: true, force: true })
    })

    test('serves media with a read-only root and no rights, stops cleanly, and keeps its tokens', async () => {
      const ports = await freePorts()
      const locked = ['--read-only', '--tmpfs', '/tmp', '--cap-drop=all', '--security-opt=no-new-privileges']
      const env = Object.entries(settingsOf(ports)).flatMap(([name, value]) => ['--env', `${name}=${value}`])
      podman(
        'run',
        '--detach',
        '--name',
        'sluice',
        ...nested,
        ...locked,
        ...env,
        '--volume',
        'sluice:/var/lib/sluice',
        IMAGE,
      )
      const inside = (...argv: string[]): string => podman('exec', 'sluice', ...argv)
      const cli = async (...argv: string[]): Promise<string> => inside('sluice', ...argv)
      await isReady(ports)
      expect(inside('id', '-u')).toBe('10001')
      expect(() => inside('touch', '/usr/lib/sluice/x')).toThrow()
      podman('healthcheck', 'run', 'sluice')
      const token = await cli('token', 'create', '--label', 'studio', '--stream', 'show')
      await expectMedia({ ports, cli }, token)

      podman('stop', '--time', '5', 'sluice')
      expect(podman('inspect', '--format', '{{.State.ExitCode}}', 'sluice')).toBe('0')
      expect(podman('logs', 'sluice')).not.toContain('in JavaScript')
      podman('start', 'sluice')
      await isReady(ports)
      expect(await cli('token', 'list', '--json')).toContain('studio')
      await expectMedia({ ports, cli }, token)
    })

    test('has no compiler, no npm, no test and no setting of the machine that built it', () => {
      const programs = 'for name in cc gcc make npm; do command -v $name; done'
      const files = 'find /usr/lib/sluice -not -path "*/node_modules/*" \\( -name ".env*" -o -name "*.test.*" \\)'
      const look = `${programs}; ${files}`
      expect(podman('run', '--rm', ...nested, '--entrypoint', 'sh', IMAGE, '-c', look)).toBe('')
      expect(Number(podman('image', 'inspect', '--format', '{{.Size}}', IMAGE))).toBeLessThan(900_000_000)
    })
  })
}
