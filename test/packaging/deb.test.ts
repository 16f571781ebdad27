import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { run as runHere } from '../../scripts/packages.mjs'
import { Chroot, INSIDE } from './debian.ts'
import { expectMedia, ownPorts, isReady, settingsOf } from './media.ts'

const { debs, debian } = inject('packages')
const PRIVATE_NODE = '/usr/lib/sluice/node_modules/.bin/node'

test('the package names its version as dpkg orders versions, and what it needs', () => {
  const fields = runHere('dpkg-deb', ['--field', debs.newer, 'Version', 'Depends', 'Recommends'])
  expect(fields).toContain('Version: 99.0.0~rc.1')
  expect(fields).toMatch(/Depends: .*libc6 \(>= 2\.\d+\)/)
  expect(fields).toContain('ffmpeg')
})

if (debian !== null) {
  describe('in a fresh Debian', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-deb-'))
    const inside = new Chroot(join(folder, 'root'))
    let before: string
    let token: string

    beforeAll(async () => {
      await inside.unpack(debian)
      runHere('cp', [debs.old, join(inside.root, 'tmp/old.deb')])
      runHere('cp', [debs.newer, join(inside.root, 'tmp/new.deb')])
      before = await files()
    })
    afterAll(() => rmSync(folder, { recursive: true }))

    /** Everything on the disk, except what dpkg and the tools that keep users remember. */
    const files = (): Promise<string> => {
      const others = ['/proc', '/dev', '/run', '/var/lib/dpkg', '/var/log', '/var/cache', '/etc/*-', '/etc/.pwd.lock']
      const pruned = others.map((path) => `-path '${path}'`).join(' -o ')
      return inside.shell(`find / -xdev \\( ${pruned} \\) -prune -o -print | sort`)
    }

    test('it installs: user, rights, unit, manual, completions, and nothing that dpkg does not know', async () => {
      await inside.run('dpkg', '-i', '/tmp/old.deb')
      expect(await inside.shell('stat -c "%U:%G %a" /var/lib/sluice /etc/sluice/config.yaml')).toBe(
        'sluice:sluice 700\nroot:sluice 640',
      )
      expect(await inside.shell('getent passwd sluice | cut -d: -f7')).toBe('/usr/sbin/nologin')
      expect(await inside.run('readlink', '/etc/systemd/system/multi-user.target.wants/sluice.service')).toMatch(
        /sluice\.service$/,
      )
      expect(await inside.run('dpkg', '--verify', 'sluice')).toBe('')
      expect(
        await inside.shell('dpkg -L sluice | grep -cE "man1/sluice.1.gz|completions/sluice|_sluice|sluice.fish"'),
      ).toBe('4')
    })

    test('as root, commands run as the user of the service and use its data', async () => {
      token = await inside.shell('cd /root && sluice token create --label studio --stream show')
      expect(await inside.shell('find /var/lib/sluice -not -user sluice')).toBe('')
      expect(await inside.run('stat', '-c', '%a', '/var/lib/sluice/sealing.key')).toBe('600')
    })

    test('it serves media without a Node of the system, and stops on SIGTERM', async () => {
      const ports = await ownPorts()
      const [program, args] = inside.command(['sluice', 'serve'])
      const server = spawn(program, args, {
        env: { ...INSIDE, ...settingsOf(ports) },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let log = ''
      server.stdout.setEncoding('utf8').on('data', (text: string) => (log += text))
      await isReady(ports)
      await expectMedia({ ports, cli: (...argv) => inside.run('sluice', ...argv) }, token)
      server.kill('SIGTERM')
      expect(await once(server, 'close'), log).toEqual([0, null])
      expect(log).not.toContain('in JavaScript')
    })

    test('an upgrade keeps the data and the configuration', async () => {
      await inside.shell('echo "# mine" >> /etc/sluice/config.yaml')
      await inside.run('dpkg', '-i', '/tmp/new.deb')
      expect(await inside.run('dpkg-query', '-W', '-f', '${Version}', 'sluice')).toBe('99.0.0~rc.1')
      expect(await inside.run('tail', '-1', '/etc/sluice/config.yaml')).toBe('# mine')
      expect(await inside.run('stat', '-c', '%G %a', '/etc/sluice/config.yaml')).toBe('sluice 640')
      expect(await inside.shell('sluice token list --json')).toContain('studio')
    })

    test('after a downgrade it refuses a database of a newer version, with a sentence', async () => {
      await inside.run('dpkg', '-i', '/tmp/old.deb')
      const change = (sql: string): Promise<string> =>
        inside.shell(
          `${PRIVATE_NODE} -e "new (require('node:sqlite').DatabaseSync)('/var/lib/sluice/sluice.db').exec(\\"${sql}\\")"`,
        )
      await change("insert into kysely_migration (name, timestamp) values ('9999_later', '')")
      await expect(inside.run('sluice', 'token', 'list')).rejects.toThrow(/newer|9999_later/)
      await change("delete from kysely_migration where name = '9999_later'")
      expect(await inside.shell('sluice token list --json')).toContain('studio')
    })

    test('removing it keeps data and configuration; purging it leaves nothing behind', async () => {
      await inside.run('dpkg', '-r', 'sluice')
      expect(await inside.shell('ls /var/lib/sluice/sealing.key /etc/sluice/config.yaml')).not.toBe('')
      expect(await inside.shell('ls -d /usr/lib/sluice /usr/bin/sluice 2>/dev/null || true')).toBe('')
      await inside.run('dpkg', '-P', 'sluice')
      expect(await files()).toBe(before)
      expect(await inside.shell('getent passwd sluice || true')).toBe('')
    })
  })
}
