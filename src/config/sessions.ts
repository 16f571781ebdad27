import { LEASE_MAX_MS } from '../base/time.ts'
import { integer, rate } from './keys.ts'

/** The configuration keys of sessions: their limits and retention. */
export const sessions = {
  sessions: {
    max: integer({
      default: 10_000,
      min: 1,
      max: 1_000_000,
      about: 'The most publishers and viewers of one process at a time; further ones get 503.',
    }),
    publisherShare: rate({
      live: true,
      default: 0.1,
      about: 'The share of `sessions.max` that is reserved for publishers.',
    }),
    tokenShare: rate({
      live: true,
      default: 0.9,
      about:
        'The share of all viewer slots, or of all publisher slots, that one token may use, or one account for viewers without a token.',
    }),
    maxViewersPerAddress: integer({
      live: true,
      default: 2000,
      min: 0,
      max: 1_000_000,
      about: 'The most viewers of one IPv4 address or IPv6 /64 at a time; further ones get 429, and 0 means no limit.',
    }),
    maxPublishersPerAddress: integer({
      live: true,
      default: 200,
      min: 0,
      max: 1_000_000,
      about:
        'The most publishers of one IPv4 address or IPv6 /64 at a time; further ones get 429, and 0 means no limit.',
    }),
    maxConnectingPerAddress: integer({
      live: true,
      default: 500,
      min: 0,
      max: 1_000_000,
      about:
        'The most WHIP and WHEP sessions of one address without a media connection, callers over SRT without a decision, and RTMP ' +
        'connections that publish nothing yet; 0 means no limit.',
    }),
    flushSeconds: integer({
      default: 3,
      min: 1,
      max: 10,
      about:
        'How often Sluice writes bytes of sessions, in seconds; a busy node spreads them over up to a minute. A crash loses what is not written.',
    }),
    leaseSeconds: integer({
      default: 15,
      min: 5,
      max: LEASE_MAX_MS / 1000,
      about: 'How long other nodes assume that a process is alive after it renewed its lease, in seconds.',
    }),
    noViewersSeconds: integer({
      live: true,
      default: 60,
      min: 1,
      max: 3600,
      about: 'The time between the departure of the last viewer and the event `NoActiveViewers`, in seconds.',
    }),
    retentionDays: integer({
      live: true,
      default: 30,
      min: 1,
      max: 3650,
      about: 'How long ended sessions and feeds are kept, in days.',
    }),
  },
} as const
