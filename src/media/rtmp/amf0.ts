import { err, ok, type Result } from '../../base/result.ts'

/** A value of a command (Action Message Format 0). An object is a map, because its keys are untrusted input. */
export type AmfValue = number | boolean | string | null | undefined | Date | AmfObject | readonly AmfValue[]
export interface AmfObject extends ReadonlyMap<string, AmfValue> {}

const NUMBER = 0x00
const BOOLEAN = 0x01
const STRING = 0x02
const OBJECT = 0x03
const NULL = 0x05
const UNDEFINED = 0x06
const ECMA_ARRAY = 0x08
const OBJECT_END = 0x09
const STRICT_ARRAY = 0x0a
const DATE = 0x0b
const LONG_STRING = 0x0c
const XML_DOCUMENT = 0x0f
const TYPED_OBJECT = 0x10

/** A `connect` has about 12 properties one level deep, metadata about 20. */
const MAX_DEPTH = 8
const MAX_VALUES = 1024

/** Reads every value of a message. The refusal says whether it is truncated, too deep, too long or not AMF0. */
export function decodeAmf(bytes: Buffer): Result<AmfValue[], string> {
  const reader = new AmfReader(bytes)
  const values: AmfValue[] = []
  while (!reader.isDone) values.push(reader.value(0))
  return reader.problem === null ? ok(values) : err(reader.problem)
}

/** After a problem it behaves as at the end of the bytes, so that every loop ends. Reports the first problem. */
class AmfReader {
  problem: string | null = null
  readonly #bytes: Buffer
  #at = 0
  #count = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isDone(): boolean {
    return this.#at >= this.#bytes.length
  }

  value(depth: number): AmfValue {
    if (depth > MAX_DEPTH) return this.#fail(`AMF0 values are nested more than ${MAX_DEPTH} deep`)
    if (++this.#count > MAX_VALUES) return this.#fail(`more than ${MAX_VALUES} AMF0 values`)
    return this.#body(this.#unsigned(1), depth)
  }

  #body(marker: number, depth: number): AmfValue {
    switch (marker) {
      case NUMBER:
        return this.#take(8)?.readDoubleBE(0)
      case BOOLEAN:
        return this.#unsigned(1) !== 0
      case STRING:
        return this.#text(2)
      case LONG_STRING:
      case XML_DOCUMENT:
        return this.#text(4)
      case OBJECT:
        return this.#properties(depth)
      case TYPED_OBJECT:
        this.#text(2) // Ignores the class name.
        return this.#properties(depth)
      case ECMA_ARRAY:
        this.#take(4) // Ignores the count, which publishers often get wrong.
        return this.#properties(depth)
      case STRICT_ARRAY:
        return this.#array(depth)
      case DATE:
        return this.#date()
      case NULL:
        return null
      case UNDEFINED:
        return undefined
      default:
        return this.#fail(`AMF0 type ${marker} is unknown`)
    }
  }

  #properties(depth: number): AmfObject {
    const found = new Map<string, AmfValue>()
    while (this.problem === null) {
      const name = this.#text(2)
      if (name === '' && this.#bytes[this.#at] === OBJECT_END) {
        this.#at++
        break
      }
      const value = this.value(depth + 1)
      if (this.problem === null) found.set(name, value)
    }
    return found
  }

  #array(depth: number): AmfValue[] {
    const found: AmfValue[] = []
    const length = this.#unsigned(4)
    while (this.problem === null && found.length < length) found.push(this.value(depth + 1))
    return found
  }

  #date(): Date {
    const date = new Date(this.#take(8)?.readDoubleBE(0) ?? 0)
    this.#take(2) // The time zone is reserved and zero.
    return date
  }

  #text(lengthBytes: 2 | 4): string {
    return this.#take(this.#unsigned(lengthBytes))?.toString('utf8') ?? ''
  }

  #unsigned(size: 1 | 2 | 4): number {
    return this.#take(size)?.readUIntBE(0, size) ?? 0
  }

  #take(count: number): Buffer | undefined {
    const end = this.#at + count
    if (end > this.#bytes.length) return this.#fail('AMF0 data is cut short')
    const taken = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return taken
  }

  #fail(problem: string): undefined {
    this.problem ??= problem
    this.#at = this.#bytes.length
    return undefined
  }
}

/** Writes values in sequence, as in a command or data message. */
export const encodeAmf = (values: readonly AmfValue[]): Buffer => Buffer.concat(values.map(encodeValue))

/** An object from named values. */
export const amfObject = (properties: Readonly<Record<string, AmfValue>>): AmfObject =>
  new Map(Object.entries(properties))

function encodeValue(value: AmfValue): Buffer {
  if (value === null) return Buffer.from([NULL])
  if (value === undefined) return Buffer.from([UNDEFINED])
  if (typeof value === 'number') return Buffer.concat([Buffer.from([NUMBER]), double(value)])
  if (typeof value === 'boolean') return Buffer.from([BOOLEAN, value ? 1 : 0])
  if (typeof value === 'string') return encodeText(value)
  if (value instanceof Date) return Buffer.concat([Buffer.from([DATE]), double(value.getTime()), Buffer.alloc(2)])
  if (isArray(value)) return Buffer.concat([Buffer.from([STRICT_ARRAY]), uint32(value.length), encodeAmf(value)])
  return encodeObject(value)
}

/** `Array.isArray` does not narrow a readonly array. */
const isArray = (value: object): value is readonly AmfValue[] => Array.isArray(value)

function encodeObject(object: AmfObject): Buffer {
  const properties = [...object].flatMap(([name, value]) => [shortText(name), encodeValue(value)])
  return Buffer.concat([Buffer.from([OBJECT]), ...properties, Buffer.from([0, 0, OBJECT_END])])
}

function encodeText(text: string): Buffer {
  const bytes = Buffer.from(text)
  if (bytes.length > 0xffff) return Buffer.concat([Buffer.from([LONG_STRING]), uint32(bytes.length), bytes])
  return Buffer.concat([Buffer.from([STRING]), shortText(text)])
}

function shortText(text: string): Buffer {
  const bytes = Buffer.from(text)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(bytes.length)
  return Buffer.concat([length, bytes])
}

function double(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleBE(value)
  return bytes
}

/** Big-endian. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
