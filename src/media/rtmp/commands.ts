import { err, ok, type Result } from '../../base/result.ts'
import { type AmfObject, type AmfValue, decodeAmf } from './amf0.ts'
import { MESSAGE, type Message } from './messages.ts'

/** A command of a client, parsed and bounded. */
export interface RtmpCommand {
  readonly name: string
  /** 0: the client expects no answer. */
  readonly transaction: number
  /** The command object; empty where it is null. */
  readonly object: AmfObject
  readonly parameters: readonly AmfValue[]
}

/** What the other side may send of commands: the longest one, and so many in a minute and at once. */
export const COMMAND_BYTES = 65_536
export const COMMAND_RATE = { burst: 64, perSecond: 64 / 60 }

const EMPTY: AmfObject = new Map()

/** Reads an AMF0 command. AMF3 clients put a zero byte in front of it. */
export function readCommand({ type, payload }: Message): Result<RtmpCommand, string> {
  const body = type === MESSAGE.commandAmf3 && payload[0] === 0 ? payload.subarray(1) : payload
  const values = decodeAmf(body)
  if (!values.ok) return values
  const [name, transaction, object, ...parameters] = values.value
  if (typeof name !== 'string' || typeof transaction !== 'number') return err('a command has no name or number')
  return ok({ name, transaction, object: object instanceof Map ? object : EMPTY, parameters })
}

/** A part of an address that may carry a query. */
export interface RtmpTarget {
  readonly path: string
  readonly query: string
}

/** Splits off the query, and removes slashes and blanks at both ends of the path: addresses and keys are pasted. */
export function readTarget(value: AmfValue): RtmpTarget {
  const text = typeof value === 'string' ? value.trim() : ''
  const mark = text.indexOf('?')
  const path = mark < 0 ? text : text.slice(0, mark)
  return { path: path.replaceAll(/^[/\s]+|(?<![/\s])[/\s]+$/g, ''), query: mark < 0 ? '' : text.slice(mark + 1) }
}
