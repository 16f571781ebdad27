import { type Static, Type, type TSchema } from 'typebox'
import { isObject } from '../../base/objects.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { parseAddress } from '../access/address.ts'
import { parseDateTime } from '../validation/moments.ts'
import { TOKEN_LIMITS, type TokenKind } from '../tokens/types.ts'
import { readShape, type BodyReader } from '../validation/bodyReader.ts'
import { isNotBuilt } from '../validation/notBuilt.ts'
import { Problems } from '../validation/problems.ts'
import type { FieldErrors } from '../errors.ts'
import { closed } from '../validation/closed.ts'

/** What files carry from one installation to another beside the settings of the API's create. */

const BOUND_MAX = 100_000

const moment = () => Type.Optional(Type.String({ format: 'date-time', minLength: 20, maxLength: 40 }))
const carriedByAll = {
  isActive: Type.Optional(Type.Boolean()),
  expiresOn: moment(),
  boundAddresses: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { maxItems: BOUND_MAX })),
}

const SCHEMAS = {
  publish: Type.Object(carriedByAll, closed),
  subscribe: Type.Object(
    {
      ...carriedByAll,
      revokedBefore: moment(),
      revokedJtis: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { maxItems: TOKEN_LIMITS.revokedJtisMax }),
      ),
    },
    closed,
  ),
} as const

type Settings = Readonly<Record<string, unknown>>

/** The state of a token that an update cannot set. */
export interface CarriedToken {
  readonly isActive: boolean
  readonly expiresAtMs: number | null
  /** Bodies of revocations. */
  readonly revocations: readonly object[]
  /** Canonical text, in the order of binding. */
  readonly boundAddresses: readonly string[]
}

/** The settings of a token in a file: those of the API's create, and its state. */
export function readTokenSettings(
  kind: TokenKind,
  settings: Settings,
): Result<{ body: Settings; carried: CarriedToken }, FieldErrors> {
  const names = Object.keys(SCHEMAS[kind].properties)
  const problems = new Problems()
  const reader = readShape(SCHEMAS[kind], only(settings, names), problems) as unknown as BodyReader<
    Static<typeof SCHEMAS.subscribe>
  >
  const expiresOn = reader.value('expiresOn')
  const carried = {
    isActive: reader.value('isActive') ?? true,
    expiresAtMs: expiresOn === undefined ? null : parseDateTime(expiresOn),
    revocations: readRevocations(reader),
    boundAddresses: reader.items('boundAddresses').map(({ at, item }) => {
      const address = parseAddress(item)
      if (address === null) problems.add(at, 'must be an IP address')
      return address?.text ?? ''
    }),
  }
  const body = without(settings, names)
  if (expiresOn !== undefined && carried.expiresAtMs === null) {
    problems.add('expiresOn', 'must be a date and time that exists, from 1970 on')
  }
  if (expiresOn !== undefined && body['expires'] !== undefined) {
    problems.add('expiresOn', 'must not stand beside expires')
  }
  const read = problems.settle(carried)
  return read.ok ? ok({ body, carried: read.value }) : err(read.error)
}

function readRevocations(body: BodyReader<Static<typeof SCHEMAS.subscribe>>): object[] {
  const issuedBefore = body.value('revokedBefore')
  const ofOne = (body.value('revokedJtis') ?? []).map((jti) => ({ jti }))
  return issuedBefore === undefined ? ofOne : [...ofOne, { issuedBefore }]
}

/** Settings of channels and their parts that the API's create does not take. */
export const OWN_OF_CHANNELS = ['id', 'streamKey', 'closedWithoutKey']

/** Settings that only say how a token is created. */
export const TOKEN_CREATION = ['id', 'expires', 'expiresOn', 'revokedBefore', 'revokedJtis', 'boundAddresses']

/** Settings of tokens of which any value is taken and changes nothing, so that a record never has another. */
export const WITHOUT_EFFECT = ['lowLatencyRtmp']

export const without = (settings: Settings, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(settings).filter(([name]) => !names.includes(name)))

const only = (settings: Settings, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(settings).filter(([name]) => names.includes(name)))

/**
 * What a record has of the settings of a create, with all parts. A setting that is added to the schema and to the record
 * is among them.
 */
export function settingsOf(schema: TSchema, record: unknown): unknown {
  const variant = Type.IsUnion(schema) ? (schema.anyOf.find((one) => !Type.IsNull(one)) ?? schema) : schema
  if (Type.IsArray(variant) && Array.isArray(record)) return record.map((item) => settingsOf(variant.items, item))
  if (!Type.IsObject(variant) || !isObject(record)) return record
  const entries = Object.entries(variant.properties as Record<string, TSchema>)
  return Object.fromEntries(
    entries
      .filter(([name, own]) => record[name] !== undefined && !isNotBuilt(own))
      .map(([name, own]) => [name, settingsOf(own, record[name])]),
  )
}
