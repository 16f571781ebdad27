import { readdirSync, readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'

/** What the load needs of a server that forwards one publisher to viewers. */
export interface Forwarder {
  /** Answers a publisher's offer. */
  publish(offer: string): Promise<string>
  /** Adds a viewer. Either side may make the offer: some servers insist on making it. */
  view(viewer: ViewerSide): Promise<void>
  /** Nanoseconds of CPU that its processes have used. */
  cpuNs(): number | Promise<number>
}

/** Such a server on this machine. */
export interface Contender extends Forwarder {
  readonly name: string
  stop(): Promise<void>
}

/** The viewer of the load, which can offer or answer. */
export interface ViewerSide {
  offer(): Promise<string>
  accept(answer: string): Promise<void>
  answer(offer: string): Promise<string>
}

/** Nanoseconds of CPU that all threads of a process and of its children have used. */
export function cpuNs(pid: number): number {
  return family(pid)
    .flatMap(threadsOf)
    .reduce((sum, path) => sum + runtimeOf(path), 0)
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
