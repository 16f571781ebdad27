import { type TSchema, Type } from 'typebox'

/** A property of other services that is refused by name, unless its value asks for nothing. */
export interface NotBuilt extends TSchema {
  /** Why it is refused, ready to be shown. */
  'x-not-built': string
  /** Values of this property alone that ask for nothing. */
  'x-nothing': readonly unknown[]
}

/**
 * The schema of a property that is not built.
 * @param why ready to be shown
 * @param nothing values that ask for nothing, beside those that always do
 */
export const notBuilt = (why: string, nothing: readonly string[] = []) =>
  Type.Optional(
    Type.Unknown({
      description: `Not built: ${why}. Leave it out, or send ${['false', 'null', ...nothing.map(quoted), 'nothing'].join(', ')}.`,
      'x-not-built': why,
      'x-nothing': nothing,
    }),
  )

const quoted = (text: string): string => `"${text}"`

export const isNotBuilt = (schema: TSchema): schema is NotBuilt => 'x-not-built' in schema

/**
 * Does a value ask for nothing, as clients send that fill in every field? False, null, an empty list, an object that is
 * switched off or of nothing else, and what the schema names.
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
