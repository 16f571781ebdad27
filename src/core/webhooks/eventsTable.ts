import type { TSchema } from 'typebox'
import { EVENTS, type EventDefinition } from './events.ts'

/** The documentation of all events as Markdown, from the same table as the payloads. */
export function eventsMarkdown(): string {
  return `${overview()}\n\n${fields()}\n`
}

function overview(): string {
  const rows = Object.entries(EVENTS).flatMap(([type, events]) =>
    Object.entries<EventDefinition>(events).map(
      ([event, { when, data }]) => `| \`${type}\` | \`${event}\` | ${when} | ${namesOf(data)} |`,
    ),
  )
  return ['| type | event | sent when | data |', '|---|---|---|---|', ...rows].join('\n')
}

/** Optional fields are marked as in TypeScript. */
function namesOf(data: EventDefinition['data']): string {
  const required = new Set(data.required)
  return Object.keys(data.properties)
    .map((name) => (required.has(name) ? name : `${name}?`))
    .join(', ')
}

/** Each field once: its meaning is the same wherever it appears. */
function fields(): string {
  const seen = new Map<string, TSchema>()
  for (const events of Object.values(EVENTS)) {
    for (const { data } of Object.values<EventDefinition>(events)) {
      for (const [name, schema] of Object.entries(data.properties)) if (!seen.has(name)) seen.set(name, schema)
    }
  }
  const rows = [...seen].map(([name, schema]) => `| \`${name}\` | ${typeOf(schema)} | ${describe(schema)} |`)
  return ['| field of data | type | meaning |', '|---|---|---|', ...rows].join('\n')
}

interface Described {
  type?: string
  format?: string
  description?: string
  items?: { type?: string }
}

function typeOf(schema: TSchema): string {
  const { type, format, items } = schema as Described
  if (type === 'array') return `array of ${items?.type}s`
  return format === undefined ? String(type) : `${type} (${format.toUpperCase()})`
}

const describe = (schema: TSchema): string => (schema as Described).description ?? ''
