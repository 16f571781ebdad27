import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where Debian has the libraries of arm64 on a machine of another kind. */
const LIBRARIES = '/usr/aarch64-linux-gnu'

/**
 * Writes a program that runs a Node for arm64 on this machine, and returns its path. Programs that this Node starts as
 * `process.execPath` run in the same way: the kernel alone cannot start them.
 */
export function emulatedNode(node: string, folder: string): string {
  const [program, preload] = [join(folder, 'node'), join(folder, 'execPath.mjs')]
  writeFileSync(preload, `process.execPath = ${JSON.stringify(program)}\n`)
  const command = `exec qemu-aarch64 -L ${LIBRARIES} '${node}' --import '${preload}' "$@"`
  writeFileSync(program, `#!/bin/sh\n${command}\n`, { mode: 0o755 })
  return program
}
