/**
 * The bytes of an IP address in network order: 4 for IPv4 and for IPv4-mapped IPv6 (what a dual-stack socket shows for
 * an IPv4 peer), else 16. A zone (`%eth0`) is dropped. Null for what is no address.
 */
export function addressBytes(text: string): Buffer | null {
  const bare = text.split('%', 1)[0] ?? ''
  return bare.includes(':') ? unmapped(v6Bytes(bare)) : v4Bytes(bare)
}

function v4Bytes(text: string): Buffer | null {
  const parts = text.split('.', 5)
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256)) return null
  return Buffer.from(parts.map(Number))
}

function v6Bytes(text: string): Buffer | null {
  if (text.length > 45) return null
  const halves = text.split('::')
  if (halves.length > 2) return null
  const [head, tail] = [groups(halves[0] ?? '', halves.length === 1), groups(halves[1] ?? '', true)]
  if (head === null || tail === null) return null
  const missing = 16 - head.length - tail.length
  if (halves.length === 2 ? missing < 2 : missing !== 0) return null
  return Buffer.from([...head, ...Buffer.alloc(missing), ...tail])
}

/** The bytes of `a:b:c`. Only the last group of the address may be a dotted IPv4 address (RFC 4291 section 2.2). */
function groups(text: string, isEnd: boolean): number[] | null {
  if (text === '') return []
  const bytes: number[] = []
  for (const [at, group] of text.split(':').entries()) {
    const v4 = isEnd && group.includes('.') && at === text.split(':').length - 1 ? v4Bytes(group) : null
    if (v4 !== null) bytes.push(...v4)
    else if (/^[0-9a-fA-F]{1,4}$/.test(group))
      bytes.push(Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255)
    else return null
  }
  return bytes
}

const MAPPED = Buffer.from('00000000000000000000ffff', 'hex')

const unmapped = (bytes: Buffer | null): Buffer | null =>
  bytes?.subarray(0, 12).equals(MAPPED) === true ? bytes.subarray(12) : bytes
