import { hasCode } from './errorCode.ts'

/** Whether a process with this id exists on this machine. Processes of other users count too. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return hasCode(error, 'EPERM')
  }
}

/** Names a process for others: its host key (host and data directory), its number, and an id of its own. */
export const processKey = (hostKey: string, pid: number, id: string): string => `${hostKey}#${pid}#${id}`

/** The number in a process key of this host; null: the process is on another one. A host key may contain a `#` itself. */
export function pidAt(hostKey: string, key: string): number | null {
  if (!key.startsWith(`${hostKey}#`)) return null
  const [, pid] = /^(\d+)#[^#]*$/.exec(key.slice(hostKey.length + 1)) ?? []
  return pid === undefined ? null : Number(pid)
}
