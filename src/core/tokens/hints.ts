import type { TokenKind } from './types.ts'
import {
  CreatePublishToken,
  CreateSubscribeToken,
  TWO_SPELLINGS,
  UpdatePublishToken,
  UpdateSubscribeToken,
} from './schema.ts'
import type { Hints } from '../validation/bodyReader.ts'

/** Why a property is refused, where there is more to say than that it is unknown. Taken from the schemas. */

const CREATE = { publish: CreatePublishToken, subscribe: CreateSubscribeToken } as const
const UPDATE = { publish: UpdatePublishToken, subscribe: UpdateSubscribeToken } as const

const CREATE_HINTS: Hints = new Map([
  ['isActive', 'a new token is active; send isActive: false in an update'],
  ['expiresOn', 'is what records show; send expires, the number of seconds from now'],
  ...Object.entries(TWO_SPELLINGS).map(([plain, update]) => hint(update, `belongs to updates; send ${plain}`)),
])

const TRACKING_HINT = hint('tracking', 'cannot be changed after creation; create another token')

const UPDATE_HINTS: Hints = new Map([
  ['expires', 'cannot be changed after creation; create another token'],
  ['streams', 'cannot be replaced; send addTokenStreams and removeTokenStreams'],
])

export const createHints = {
  publish: withForeign(CREATE.publish, CREATE.subscribe, 'subscribe', CREATE_HINTS),
  subscribe: withForeign(CREATE.subscribe, CREATE.publish, 'publish', CREATE_HINTS),
} as const

export const updateHints = {
  publish: withForeign(UPDATE.publish, CREATE.subscribe, 'subscribe', UPDATE_HINTS),
  subscribe: withForeign(UPDATE.subscribe, UPDATE.publish, 'publish', new Map([...UPDATE_HINTS, TRACKING_HINT])),
} as const

interface Schema {
  properties: object
}

/** `known`, plus a sentence for each property that only the other kind of token has. */
function withForeign(own: Schema, other: Schema, otherKind: TokenKind, known: Hints): Hints {
  const foreign = Object.keys(other.properties).filter((name) => !Object.hasOwn(own.properties, name))
  const hints = foreign.map((name) => hint(name, `unknown property ${name}; only ${otherKind} tokens have it`))
  return new Map([...hints, ...known])
}

function hint(name: string, text: string): [string, string] {
  return [name, text]
}
