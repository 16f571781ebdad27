import { Type } from 'typebox'
import { clusterName } from '../clusters.ts'
import { orNull } from './schemaParts.ts'
import { TOKEN_LIMITS as LIMITS, TOKEN_STATES } from './types.ts'
import { closed } from '../validation/closed.ts'

/** Schemas of requests other than token bodies: list queries, revocation, disabling. */

const listFields = () => ({
  sortBy: Type.Optional(
    Type.Enum(['Name', 'AddedOn', 'LastUsedOn'], {
      default: 'Name',
      description:
        'Names go by code point, capitals first. By last use, tokens without one come first. Ties are broken by id.',
    }),
  ),
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647, default: 1 })),
  itemsOnPage: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  isDescending: Type.Optional(Type.Boolean({ default: false })),
  state: Type.Optional(
    Type.Enum([...TOKEN_STATES], {
      description:
        'live: a client uses it now. ready: active, and not live. expiring: active, expires within 7 days. off: not active. expired.',
    }),
  ),
  expiresBefore: Type.Optional(
    Type.String({
      format: 'date-time',
      maxLength: 40,
      description: 'Only tokens that expire before this time (RFC 3339, with an offset), or have expired.',
    }),
  ),
  includeValue: Type.Optional(
    Type.Boolean({ default: true, description: 'false: the records come without `token`, the value.' }),
  ),
})

export const ListQuery = Type.Object(listFields(), { $id: 'TokenListQuery', ...closed })

export const ListByNameQuery = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: LIMITS.streamNameMax,
      description: 'Text to find in labels or stream names, in any case. Tokens with a pattern are left out.',
    }),
    filterBy: Type.Optional(
      Type.Enum(['None', 'TokenName', 'StreamName', 'TokenOrStreamName'], {
        default: 'TokenOrStreamName',
        description: 'Where to look. None is the same as TokenOrStreamName.',
      }),
    ),
    ...listFields(),
  },
  { $id: 'TokenListByNameQuery', ...closed },
)

export const ListByClusterQuery = Type.Object(
  { cluster: clusterName(1), ...listFields() },
  { $id: 'TokenListByClusterQuery', ...closed },
)

export const RevokeSelfSigned = Type.Object(
  {
    jti: Type.Optional(orNull(Type.String({ minLength: 1, maxLength: 128 }), 'The `jti` of one self-signed token.')),
    issuedBefore: Type.Optional(
      Type.Union(
        [Type.Literal('now'), Type.String({ format: 'date-time', minLength: 20, maxLength: 40 }), Type.Null()],
        {
          description:
            'Every self-signed token issued before this time (RFC 3339, with an offset); not in the future. Or `now`, by the clock of the server.',
        },
      ),
    ),
  },
  {
    $id: 'RevokeSelfSigned',
    ...closed,
    minProperties: 1,
    description: 'Which self-signed children of a subscribe token are refused from now on. At least one field.',
    examples: [{ jti: 'guest-42' }, { issuedBefore: '2026-01-31T09:30:00Z' }, { issuedBefore: 'now' }],
  },
)

export const DisableTokens = Type.Object(
  {
    tokenIds: Type.Array(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), {
      minItems: 1,
      maxItems: 1000,
    }),
  },
  { $id: 'DisableTokens', ...closed, examples: [{ tokenIds: [17, 42] }] },
)
