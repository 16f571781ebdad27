import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { buildImage, run } from '../../scripts/packages.mjs'
import { missingForContainers } from './machine.ts'
import { expectMedia, ownPorts, isReady, settingsOf, statusOf } from './media.ts'
import { podOf } from './pod.ts'

const { app, debian } = inject('packages')
const BASE = 'localhost/sluice-base'
const IMAGE = 'localhost/sluice:test'

/** Limits that a container in a container may set, and an image for the container that holds the network of a pod. */
const CONTAINERS = `[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
infra_image = "${BASE}"
`

test('the container file ends as a user without rights, and has a health check', () => {
  const lines = readFileSync(new URL('../../packaging/Containerfile', import.meta.url), 'utf8').split('\n')
  expect(lines.filter((line) => /^(USER|STOPSIGNAL|ENTRYPOINT)/.test(line))).toEqual([
    'USER 10001:10001',
    'STOPSIGNAL SIGTERM',
    'ENTRYPOINT ["tini", "--", "sluice"]',
  ])
  expect(lines.some((line) => line.startsWith('HEALTHCHECK '))).toBe(true)
})

test.skipIf(process.platform === 'darwin')('the health check asks the address that the server listens on', async () => {
  const script = fileURLToPath(new URL('../../packaging/health.js', import.meta.url))
  const check = async (port: number): Promise<unknown> => {
    const env = { SLUICE_SERVER_HOST: '127.0.0.2', SLUICE_SERVER_PORT: String(port) }
    const [code] = (await once(spawn(process.execPath, [script], { env }), 'exit')) as [number]
    return code
  }
  const paths: (string | undefined)[] = []
  const server = createServer(({ url }, response) => {
    paths.push(url)
    response.end()
  }).listen(0, '127.0.0.2')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  expect([await check(port), paths]).toEqual([0, ['/readyz']])
  server.close()
  expect(await check(port)).toBe(1)
})

if (debian !== null && missingForContainers() === null) {
  describe('the image', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-image-'))
    const storage = join(folder, 'storage.conf')
    const containers = join(folder, 'containers.conf')
    const settings = { CONTAINERS_STORAGE_CONF: storage }

    /** The network of a container in a container. */
    const nested = ['--network', 'host']

    const podman = (...args: string[]): string =>
      run('podman', args, {
        env: { ...process.env, ...settings, CONTAINERS_CONF: containers },
        stdio: ['ignore', 'pipe', 'pipe'],
      }).trim()

    beforeAll(() => {
      const place = `driver = "overlay"\ngraphroot = "${folder}/graph"\nrunroot = "${folder}/run"`
      writeFileSync(storage, `[storage]\n${place}\n`)
      writeFileSync(containers, CONTAINERS)
      Object.assign(process.env, settings)
      const changes = ['CMD ["sleep", "infinity"]', 'STOPSIGNAL SIGKILL'].flatMap((change) => ['--change', change])
      podman('import', '--quiet', ...changes, debian, BASE)
      buildImage(app, IMAGE, { tool: 'buildah', base: BASE })
    })
    afterAll(() => {
      podman('pod', 'rm', '--all', '--force', '--time', '0')
      podman('rm', '--all', '--force', '--time', '0')
      podman('rmi', '--all', '--force')
      podman('volume', 'prune', '--force')
      delete process.env['CONTAINERS_STORAGE_CONF']
      rmSync(folder, { recursive: true, force: true })
    })

    test('serves media with a read-only root and no rights, stops cleanly, and keeps its tokens', async () => {
      const ports = await ownPorts()
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

    test('runs as the pod of our manifest for Kubernetes, with its rights, its secret and its volumes', async () => {
      const ports = await ownPorts()
      const { name, manifest, probes } = podOf(IMAGE, ports)
      const [file, secret] = [join(folder, 'pod.yaml'), join(folder, 'secret.json')]
      const key = randomBytes(32).toString('base64')
      writeFileSync(file, manifest)
      writeFileSync(secret, JSON.stringify({ 'sealing-key': Buffer.from(key).toString('base64') }))
      podman('secret', 'create', 'sluice', secret)
      podman('play', 'kube', file)
      const container = `${name}-sluice`
      const inside = (...argv: string[]): string => podman('exec', container, ...argv)
      const cli = async (...argv: string[]): Promise<string> => inside('sluice', ...argv)
      expect(probes).toHaveLength(2)
      for (const path of probes) await expect.poll(() => statusOf(ports, path)).toBe(200)
      expect([inside('id', '-u'), inside('grep', 'CapBnd', '/proc/1/status')]).toEqual([
        '10001',
        'CapBnd:\t0000000000000000',
      ])
      expect(() => inside('touch', '/usr/lib/sluice/x')).toThrow('Read-only file system')
      expect(inside('printenv', 'SLUICE_SECRETS_SEALING_KEY')).toBe(key)
      await expectMedia({ ports, cli }, await cli('token', 'create', '--label', 'studio', '--stream', 'show'))

      podman('pod', 'stop', '--time', '5', name)
      expect(podman('inspect', '--format', '{{.State.ExitCode}}', container)).toBe('0')
      podman('play', 'kube', '--down', file)
      expect(podman('pod', 'ps', '--quiet')).toBe('')
      expect(await statusOf(ports, '/healthz')).toBe(0)
      podman('play', 'kube', file)
      await isReady(ports)
      expect(await cli('token', 'list', '--json')).toContain('studio')
      podman('play', 'kube', '--down', file)
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
