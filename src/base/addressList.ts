import { BlockList, isIP } from 'node:net'

interface Address {
  readonly family: 4 | 6
  readonly text: string
}

/** The same for a list that may be replaced: it is compiled once for each list. */
export function liveAddressList(read: () => readonly string[]): (address: Address) => boolean {
  let [compiled, test] = [read(), addressList(read())]
  return (address) => {
    const entries = read()
    if (entries !== compiled) [compiled, test] = [entries, addressList(entries)]
    return test(address)
  }
}

/** Returns a test for one of these addresses or networks, such as `10.0.0.0/8`. The entries must be valid. */
function addressList(entries: readonly string[]): (address: Address) => boolean {
  if (entries.length === 0) return () => false
  const list = new BlockList()
  for (const entry of entries) {
    const [network = '', prefix] = entry.split('/')
    const family = isIP(network) === 6 ? 'ipv6' : 'ipv4'
    list.addSubnet(network, prefix === undefined ? (family === 'ipv6' ? 128 : 32) : Number(prefix), family)
  }
  return ({ family, text }) => list.check(text, family === 6 ? 'ipv6' : 'ipv4')
}
