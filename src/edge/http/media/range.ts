/** The bytes from `start` to `end`, both inclusive. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/**
 * Reads a `Range` header (RFC 9110 section 14.2). Null: the whole body, also for several ranges and other units, which
 * a server may ignore. `unsatisfiable`: 416.
 */
export function readRange(header: string | undefined, size: number): ByteRange | null | 'unsatisfiable' {
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? []
  if (from === '' && to === '') return null
  if (from === '') return suffix(Number(to), size)
  const start = Number(from)
  const end = to === '' ? size - 1 : Math.min(Number(to), size - 1)
  if (to !== '' && Number(to) < start) return null
  return start < size ? { start, end } : 'unsatisfiable'
}

const suffix = (length: number, size: number): ByteRange | 'unsatisfiable' =>
  length > 0 && size > 0 ? { start: Math.max(0, size - length), end: size - 1 } : 'unsatisfiable'

/** The headers of an answer to a range request, without `Content-Length`. */
export const rangeHeaders = (range: ByteRange | null | 'unsatisfiable', size: number): Record<string, string> => ({
  'Accept-Ranges': 'bytes',
  ...(range === 'unsatisfiable' ? { 'Content-Range': `bytes */${size}` } : {}),
  ...(range === null || range === 'unsatisfiable'
    ? {}
    : { 'Content-Range': `bytes ${range.start}-${range.end}/${size}` }),
})
