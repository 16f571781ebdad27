import { BlockList, isIP } from 'node:net'

interface Address {
  readonly family: 4 | 6
  readonly text: string
}

/** Returns a test for one of the addresses or networks that `read` lists, which must be valid. Each list is compiled once. */
export function liveAddressList(read: () => readonly string[]): (address: Address) => boolean {
  let [compiled, test] = [read(), addressList(read())]
  return (address) => {
    const entries = read()
    if (entries !== compiled) [compiled, test] = [entries, addressList(entries)]
    return test(address)
  }
}

/** @param entries such as `10.0.0.0/8` */
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
