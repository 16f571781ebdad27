import { integer, text, toggle } from './keys.ts'
import { headerPrefix } from './rules.ts'

/** The configuration keys of webhooks. */
export const webhooks = {
  webhooks: {
    allowPrivateTargets: toggle({
      default: false,
      about: 'Lets webhooks point to private addresses and plain http; for closed networks and tests only.',
    }),
    caFile: text({
      default: '',
      allowed: 'empty, or the path of a PEM file',
      about: 'Certificate authorities that Sluice trusts for webhook calls, in addition to the usual ones.',
    }),
    headerPrefix: text({
      default: 'X-Service-',
      allowed: 'words of letters and digits that each end with -',
      rule: headerPrefix,
      about: 'The prefix of the signature and thumbnail headers of callbacks.',
    }),
    deliveryRetentionDays: integer({
      live: true,
      default: 30,
      min: 1,
      max: 3650,
      about: 'How long the log of webhook deliveries is kept, in days.',
    }),
    inFlightPerWebhook: integer({
      live: true,
      default: 4,
      min: 1,
      max: 64,
      about: 'The most deliveries in progress to one webhook.',
    }),
    inFlight: integer({
      live: true,
      default: 128,
      min: 1,
      max: 4096,
      about:
        'The most deliveries in progress to all webhooks, per process. To webhooks that take longer than a second, four count as one.',
    }),
  },
} as const
