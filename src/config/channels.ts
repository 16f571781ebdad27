import { integer, list, text, toggle } from './keys.ts'
import { claimName, regionName, rtmpAddress } from './rules.ts'

/** The configuration keys of channels and their API. */
export const channels = {
  channels: {
    regions: list({
      default: ['local'],
      allowed: 'names of letters, digits and -',
      rule: regionName,
      about: 'The regions in which ingests and engines can run; a single server has one.',
    }),
    rtmpUrl: text({
      live: true,
      default: '',
      allowed: 'empty, or an rtmp:// or rtmps:// address',
      rule: rtmpAddress,
      about:
        'The RTMP address that channels show to publishers, without the stream key; empty means `rtmp://localhost:PORT/live` with `rtmp.port`.',
    }),
    viewerClaim: text({
      live: true,
      default: 'streaming',
      allowed: 'the name of a claim',
      rule: claimName,
      about:
        'The claim of viewer tokens that holds their restrictions, as your signer names it; the claim of hosted services is read too.',
    }),
    stepDownOnOverload: toggle({
      live: true,
      default: true,
      about:
        'Lets an overloaded engine leave out its largest renditions until it keeps up again; its status message says so.',
    }),
    runRetentionDays: integer({
      live: true,
      default: 400,
      min: 1,
      max: 3650,
      about: 'How long ended runs and skipped occurrences of schedulers are kept, in days.',
    }),
  },
  provision: {
    folder: text({
      live: true,
      default: '',
      allowed: 'empty, or a path',
      about:
        'The folder of YAML files that describe tokens, webhooks and channels; applied at each start and reload; empty: none.',
    }),
  },
  management: {
    failedAttemptsPerMinute: integer({
      live: true,
      default: 60,
      min: 1,
      max: 1_000_000,
      about: 'The most requests with a wrong API secret or credential per minute and address; further ones get 429.',
    }),
    requestsPerMinute: integer({
      live: true,
      default: 12_000,
      min: 0,
      max: 10_000_000,
      about: 'The most requests to `/v2` per minute and credential; further ones get 429, and 0 means no limit.',
    }),
  },
} as const
