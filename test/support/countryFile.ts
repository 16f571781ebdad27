/**
 * A country database in the format MMDB 2.0 in which every IPv4 address is in one country. The format:
 * https://maxmind.github.io/MaxMind-DB/
 * @param builtSeconds when it was made, in the first minutes of 1970; 0: it does not say
 */
export function countryFile(code: string, builtSeconds = 0): Buffer {
  // One node of the search tree: either bit leads to the first record of data, which is behind a separator of 16 bytes.
  const [nodes, separator] = [1, 16]
  const tree = Buffer.alloc(6)
  for (const at of [0, 3]) tree.writeUIntBE(nodes + separator, at, 3)
  const data = map({ country: map({ iso_code: text(code) }) })
  const metadata = map({
    binary_format_major_version: uint16(2),
    binary_format_minor_version: uint16(0),
    build_epoch: uint64(builtSeconds),
    database_type: text('Test'),
    description: map({}),
    ip_version: uint16(4),
    languages: Buffer.from([0x00, 0x04]),
    node_count: uint32(nodes),
    record_size: uint16(24),
  })
  return Buffer.concat([
    tree,
    Buffer.alloc(separator),
    data,
    Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1'),
    metadata,
  ])
}

const text = (value: string): Buffer => Buffer.concat([Buffer.from([(2 << 5) | value.length]), Buffer.from(value)])

const uint16 = (value: number): Buffer => Buffer.from([(5 << 5) | 1, value])

const uint32 = (value: number): Buffer => Buffer.from([(6 << 5) | 1, value])

/** An extended type: its number less 7 is in the second byte. */
const uint64 = (value: number): Buffer => Buffer.from([1, 2, value])

const map = (entries: Readonly<Record<string, Buffer>>): Buffer =>
  Buffer.concat([
    Buffer.from([(7 << 5) | Object.keys(entries).length]),
    ...Object.entries(entries).flatMap(([key, value]) => [text(key), value]),
  ])
