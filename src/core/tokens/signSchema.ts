import { Type } from 'typebox'
import { CUSTOM_VIEWER_DATA_MAX } from '../access/claims.ts'
import { TOKEN_LIMITS as LIMITS } from './types.ts'
import { closed } from '../validation/closed.ts'

const list = (maxLength: number, maxItems: number, description: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength }), { maxItems, description }))

/** What a signed token may do. The parent's own rules hold as well. */
export const SignToken = Type.Object(
  {
    streamName: Type.String({
      minLength: 1,
      maxLength: LIMITS.streamNameMax,
      description: 'The one stream that the holder may view; the parent must cover it.',
    }),
    expiresInSeconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMITS.expiresMaxSeconds, default: 60, description: 'From now.' }),
    ),
    jti: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, description: 'A name to revoke it by. Default: a random one.' }),
    ),
    allowedOrigins: list(255, 16, 'As on the parent: host, `*.host`, optionally with scheme and port.'),
    allowedIpAddresses: list(64, 16, 'IPv4 addresses and CIDR blocks.'),
    tracking: Type.Optional(
      Type.Object(
        { trackingId: Type.String({ minLength: 1, maxLength: LIMITS.trackingIdMax }) },
        { ...closed, description: "Counts the viewer's bytes under this id; that of the parent if it has one." },
      ),
    ),
    maxViewers: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.viewersMax,
        description: 'The most concurrent viewers with this tracking id. It needs `tracking`.',
      }),
    ),
    endAtExpiry: Type.Optional(
      Type.Boolean({ default: false, description: 'The session ends when the signed token expires, or its parent.' }),
    ),
    customViewerData: Type.Optional(
      Type.String({ maxLength: CUSTOM_VIEWER_DATA_MAX, description: 'Text of yours, in the records of its viewers.' }),
    ),
  },
  {
    $id: 'SignToken',
    ...closed,
    description: 'A token that is signed with a subscribe token, its parent. It can narrow the parent, never widen it.',
    examples: [{ streamName: 'studio-1', expiresInSeconds: 3600, jti: 'guest-42' }],
  },
)

export const SignedToken = Type.Object(
  {
    token: Type.String({ description: 'The signed token, a JWT. A viewer presents it like a subscribe token.' }),
    tokenId: Type.Integer({ description: 'The parent.' }),
    streamName: Type.String(),
    jti: Type.String(),
    expiresOn: Type.String({
      format: 'date-time',
      description: 'When it expires, or when the parent does if that is earlier.',
    }),
  },
  { $id: 'SignedToken', ...closed },
)
