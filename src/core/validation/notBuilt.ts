import { type TSchema, Type } from 'typebox'

/** A property of hosted services that Sluice refuses by name, unless its value requests nothing. */
export interface NotBuilt extends TSchema {
  /** Why it is refused, ready for a message. */
  'x-not-built': string
  /** Values of this property that request nothing. */
  'x-nothing': readonly unknown[]
}

/**
 * The schema of a property that is not built.
 * @param why ready for a message
 * @param nothing values that request nothing, beside those that always do
 */
export const notBuilt = (why: string, nothing: readonly (string | number)[] = []) =>
  Type.Optional(
    Type.Unknown({
      description: `Not built: ${why}. Leave it out, or send ${['false', 'null', ...nothing.map(quoted), 'nothing'].join(', ')}.`,
      'x-not-built': why,
      'x-nothing': nothing,
    }),
  )

const quoted = (value: string | number): string => (typeof value === 'string' ? `"${value}"` : String(value))

export const isNotBuilt = (schema: TSchema): schema is NotBuilt => 'x-not-built' in schema

/**
 * Whether a value requests nothing. Clients that fill in every field send such values: false, null, an empty list,
 * an object that is switched off or holds only such values, and the values that the schema lists.
 */
export const asksForNothing = (schema: NotBuilt, value: unknown): boolean =>
  schema['x-nothing'].includes(value) || isNothing(value)

const SWITCHES = ['isEnabled', 'enabled']

function isNothing(value: unknown): boolean {
  if (value === false || value === null) return true
  if (Array.isArray(value)) return value.length === 0
  if (typeof value !== 'object') return false
  const members = Object.entries(value)
  const isOff = members.some(([name, member]) => SWITCHES.includes(name) && member === false)
  return isOff || members.every(([, member]) => isNothing(member))
}
