import { execFileSync } from 'node:child_process'

/** The ids of the relay processes that a process has, in no order. */
export function processIdsOf(parent: number): number[] {
  const children = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(parent)], { encoding: 'utf8' })
  return children
    .split('\n')
    .filter((child) => child.includes('relay/processes/process.ts'))
    .map((child) => Number.parseInt(child, 10))
}
