import { readdirSync, readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'

/** A server that forwards one publisher to viewers. */
export interface Contender {
  readonly name: string
  /** Answers a publisher's offer. */
  publish(offer: string): Promise<string>
  /** Adds a viewer. Either side may make the offer: some servers insist on making it. */
  view(viewer: ViewerSide): Promise<void>
  /** The processes whose CPU time counts. */
  pids(): readonly number[]
  stop(): Promise<void>
}

/** The viewer of the load, which can offer or answer. */
export interface ViewerSide {
  offer(): Promise<string>
  accept(answer: string): Promise<void>
  answer(offer: string): Promise<string>
}

/** Nanoseconds of CPU that all threads of the processes have used. */
export function cpuNs(pids: readonly number[]): number {
  return pids.flatMap(threadsOf).reduce((sum, path) => sum + runtimeOf(path), 0)
}

const threadsOf = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}/schedstat`)

function runtimeOf(path: string): number {
  try {
    return Number(readFileSync(path, 'utf8').split(' ', 1)[0])
  } catch {
    return 0 // the thread has ended
  }
}

/** The process and its children. */
export function family(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return [pid, ...(children === '' ? [] : children.split(' ').map(Number).flatMap(family))]
}

/**
 * An address of this machine other than loopback, which some servers refuse. Its packets stay on the machine as well.
 */
export function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((some) => some ?? [])
  const found = all.find(({ family: kind, internal }) => kind === 'IPv4' && !internal)
  if (found === undefined) throw new Error('this bench needs an IPv4 address besides the loopback')
  return found.address
}
