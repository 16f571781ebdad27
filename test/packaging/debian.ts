import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { promisify } from 'node:util'
import { missingForDebian } from './machine.ts'

const run = promisify(execFile)

/** Writes the smallest Debian as a tar file. Null if this machine cannot, such as without a mirror of Debian. */
export async function debianRoot(tar: string): Promise<string | null> {
  if (missingForDebian() !== null) return null
  try {
    await run('mmdebstrap', ['--quiet', '--variant=minbase', '--include=adduser', 'bookworm', tar])
    return tar
  } catch (error) {
    console.warn(`packages: tests are left out: ${(error as Error).message}`)
    return null
  }
}

/** Takes the place of `sh` and of its mounts, so that a signal to the process reaches the program. */
const ENTER = 'mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'

/** A Debian in a directory, in which programs run. */
export class Chroot {
  readonly root: string

  constructor(root: string) {
    this.root = root
  }

  async unpack(tar: string): Promise<void> {
    mkdirSync(this.root, { recursive: true })
    await run('tar', ['-xf', tar, '-C', this.root, '--exclude=./dev/*', '--numeric-owner'])
  }

  /** The program and arguments that run a command inside. */
  command(argv: readonly string[]): [program: string, args: string[]] {
    return ['unshare', ['--mount', 'sh', '-c', ENTER, this.root, ...argv]]
  }

  /** Standard output of a command that ends with 0. */
  async run(...argv: string[]): Promise<string> {
    const [program, args] = this.command(argv)
    const { stdout } = await run(program, args, { env: INSIDE, maxBuffer: 16 * 1024 * 1024 })
    return stdout.trim()
  }

  shell(script: string): Promise<string> {
    return this.run('sh', '-c', script)
  }
}

/** Without the directories and settings of the tests. */
export const INSIDE = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8' }
