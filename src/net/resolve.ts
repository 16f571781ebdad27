import { lookup, Resolver } from 'node:dns/promises'
import { inTime, systemClock } from '../base/clock.ts'
import { hasCode } from '../base/errorCode.ts'

/** Every address of a host name, as plain text. Rejects with the resolver's own error. Stops when the signal aborts. */
export type ResolveName = (name: string, signal: AbortSignal) => Promise<string[]>

/**
 * Queries name servers directly. The operating system's resolver occupies a thread until it answers, and there are two for
 * names: two whose servers are silent would keep every other name waiting. So public receivers are resolved here.
 */
export function publicNames(servers?: readonly string[]): ResolveName {
  return (name, signal) => {
    const resolver = new Resolver({ timeout: 2000, tries: 2 })
    if (servers) resolver.setServers(servers)
    return untilDone(resolver, signal, () => bothFamilies(resolver, name))
  }
}

/** Ends all queries with the work, or when the signal aborts. */
async function untilDone<T>(resolver: Resolver, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const cancel = () => resolver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    return await work()
  } finally {
    signal.removeEventListener('abort', cancel)
    cancel()
  }
}

/** Some name servers answer queries for one family and drop those for the other (RFC 4074). */
const OTHER_FAMILY_MS = 300

/** A name may have addresses of one family only; the other one is not waited for. Fails when both queries fail. */
async function bothFamilies(resolver: Resolver, name: string): Promise<string[]> {
  const found: [string[], string[]] = [[], []]
  const queries = [
    resolver.resolve4(name).then((addresses) => void (found[0] = addresses)),
    resolver.resolve6(name).then((addresses) => void (found[1] = addresses)),
  ]
  try {
    await Promise.any(queries)
  } catch (error) {
    throw (error as AggregateError).errors[0]
  }
  await inTime(systemClock, OTHER_FAMILY_MS, Promise.allSettled(queries))
  return found.flat()
}

/**
 * The operating system's resolver, with its hosts file and search domains, as a closed network expects. Names whose servers
 * are silent take turns there, so that a thread is left for other names, such as that of the database.
 */
export const systemNames: ResolveName = namesOfSystem({ lookUp, isSilent })

interface SystemResolver {
  readonly lookUp: (name: string) => Promise<string[]>
  /** Whether name servers leave a question for this name unanswered. */
  readonly isSilent: (name: string, signal: AbortSignal) => Promise<boolean>
}

export function namesOfSystem({ lookUp, isSilent }: SystemResolver): ResolveName {
  let latest: Promise<unknown> = Promise.resolve()
  return async (name, signal) => {
    if (!(await isSilent(name, signal))) return lookUp(name)
    const turn = latest.then(() => (signal.aborted ? [] : lookUp(name)))
    latest = turn.catch(() => undefined)
    return turn
  }
}

/** As `systemNames`. A name whose servers are silent is refused: its look-up would keep a process that ends for half a minute. */
export const answeringNames: ResolveName = async (name, signal) => {
  if (await isSilent(name, signal)) throw Object.assign(new Error('the name servers are silent'), { code: 'ETIMEOUT' })
  return lookUp(name)
}

async function lookUp(name: string): Promise<string[]> {
  const found = await lookup(name, { all: true, order: 'verbatim' })
  return found.map(({ address }) => address)
}

async function isSilent(name: string, signal: AbortSignal): Promise<boolean> {
  if (/(^|\.)localhost$/i.test(name)) return false
  const resolver = new Resolver({ timeout: 1000, tries: 1 })
  try {
    await untilDone(resolver, signal, () => resolver.resolve4(name))
    return false
  } catch (error) {
    return signal.aborted || hasCode(error, 'ETIMEOUT')
  }
}
