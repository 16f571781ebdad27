/** Whether a process with this id exists on this machine. Processes of other users count too. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Names a process for others: where it runs (host and data directory), its number, and an id of its own. */
export const processKey = (place: string, pid: number, id: string): string => `${place}#${pid}#${id}`

/** The number in a process key of this place; null: it names a process of another place. A place may hold a `#` itself. */
export function pidAt(place: string, key: string): number | null {
  if (!key.startsWith(`${place}#`)) return null
  const [, pid] = /^(\d+)#[^#]*$/.exec(key.slice(place.length + 1)) ?? []
  return pid === undefined ? null : Number(pid)
}
