import { lookup, Resolver } from 'node:dns/promises'

/** Every address of a host name, as plain text. Rejects with the resolver's own error. Stops when the signal aborts. */
export type ResolveName = (name: string, signal: AbortSignal) => Promise<string[]>

/**
 * Queries name servers directly. The operating system's resolver occupies one of four threads until it answers: four
 * names whose server never answers would block all other file and DNS work. So public receivers are resolved here.
 */
export function publicNames(servers?: readonly string[]): ResolveName {
  return async (name, signal) => {
    const resolver = new Resolver({ timeout: 2000, tries: 2 })
    if (servers) resolver.setServers(servers)
    const cancel = () => resolver.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    try {
      return await bothFamilies(resolver, name)
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }
}

/** A name may have addresses of one family only. Fails when both queries fail. */
async function bothFamilies(resolver: Resolver, name: string): Promise<string[]> {
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason
  return [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
}

/** The operating system's resolver, with its hosts file and search domains, as a closed network expects. */
export const systemNames: ResolveName = async (name) => {
  const found = await lookup(name, { all: true, order: 'verbatim' })
  return found.map(({ address }) => address)
}
