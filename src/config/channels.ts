import { integer, list, text, toggle } from './keys.ts'
import { claimName, regionName, rtmpAddress } from './rules.ts'

/** The configuration keys of channels and of the interface that manages them. */
export const channels = {
  live: {
    regions: list({
      default: ['local'],
      allowed: 'names of letters, digits and -',
      rule: regionName,
      about: 'The regions that ingests and engines can be placed in; a single server has one.',
    }),
    rtmpUrl: text({
      default: '',
      allowed: 'nothing, or an rtmp:// or rtmps:// address',
      rule: rtmpAddress,
      about:
        'Where encoders are told to push to, beside the stream key; empty: this machine, `rtmp://localhost:PORT/live` with `rtmp.port`.',
    }),
    viewerClaim: text({
      default: 'streaming',
      allowed: 'the name of a claim',
      rule: claimName,
      about:
        'The claim of viewer tokens that holds what they are restricted to; the name that your signer uses. That of hosted services is read too.',
    }),
    allowPrivateSources: toggle({
      default: false,
      about: 'Whether channels may pull from private addresses: for closed networks and tests only.',
    }),
    stepDownOnOverload: toggle({
      default: true,
      about:
        'Whether an engine that cannot keep up leaves out its largest renditions until there is room again; it says so.',
    }),
    runRetentionDays: integer({
      default: 400,
      min: 1,
      max: 3650,
      about: 'How long runs that have ended, and what schedulers skipped, are kept, in days.',
    }),
  },
  management: {
    failedAttemptsPerMinute: integer({
      default: 60,
      min: 1,
      max: 1_000_000,
      about: 'How many requests with a wrong API secret or credential one address may make in a minute; then 429.',
    }),
    requestsPerMinute: integer({
      default: 12_000,
      min: 0,
      max: 10_000_000,
      about: 'How many requests to `/v2` one credential may make in a minute, then 429; 0 means any number.',
    }),
  },
} as const
