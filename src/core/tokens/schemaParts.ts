import { Type, type TSchema } from 'typebox'
import { FEED_BITRATE, FEED_HEIGHT } from '../hls/feedRungs.ts'
import { TOKEN_LIMITS as LIMITS } from './types.ts'
import { closed } from '../validation/closed.ts'

// What bodies and records of tokens share.

/** `null` means the default on create, and on update no change, but for what `readTokenUpdate` clears. */
export const orNull = <T extends TSchema>(schema: T, description: string) =>
  Type.Union([schema, Type.Null()], { description })

export const flag = (description: string) => Type.Optional(orNull(Type.Boolean(), description))

export const int32 = () => Type.Integer({ minimum: -2_147_483_648, maximum: 2_147_483_647 })
export const streamName = () =>
  Type.String({
    minLength: 1,
    maxLength: LIMITS.streamNameMax,
    description: 'An exact name, or an RE2 pattern that must match the whole name.',
    examples: ['studio-1', 'camera-[0-9]+'],
  })

export const rendition = () =>
  Type.Object(
    {
      height: Type.Integer({
        minimum: FEED_HEIGHT.min,
        maximum: FEED_HEIGHT.max,
        description: 'Pixels of the shorter side, even: 480 for 480p. The other side follows from the source.',
      }),
      bitrate: Type.Integer({
        minimum: FEED_BITRATE.min,
        maximum: FEED_BITRATE.max,
        description: 'The most bits of video per second.',
      }),
    },
    closed,
  )

export const ORIGINS_TEXT =
  'Origins that may use the token: host, `*.host` (any subdomain, not the bare host), optionally with scheme and port. Empty: any.'
export const ADDRESSES_TEXT = 'IPv4 addresses and CIDR blocks that may use the token. Empty: any.'
export const BIND_TEXT =
  'The number of addresses that the token is bound to: the first ones that use it. Others are refused. 0: off.'
export const VIEWERS_TEXT =
  'The most concurrent viewers, over all nodes: with a subscribe token, or of each stream of a publish token. Further ones get `429`. 0: no limit.'
export const ALLOWED_TEXT = 'ISO 3166-1 alpha-2 codes. Excludes `deniedCountries`. Empty: any.'
export const DENIED_TEXT = 'ISO 3166-1 alpha-2 codes. Excludes `allowedCountries`. Empty: none.'

export const RENDITIONS_TEXT =
  'Smaller renditions of the published video, for HLS. Heights are distinct. Those that are not smaller than the source are left out.'

export const CODECS_TEXT =
  'The codecs of what the publisher sends, in HLS. `h264`: H.264 and AAC, which every player has. `source`: HEVC, AV1, VP9 and ' +
  'Opus stay as they are, for players that have them.'

export const DAYS_TEXT =
  'How many days recordings of its broadcasts are kept after they are complete. 0: until they are deleted. It holds for ' +
  'recordings that get complete from now on.'
