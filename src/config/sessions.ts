import { integer, rate } from './keys.ts'

/** The configuration keys of sessions: how many there may be, and how they are kept. */
export const sessions = {
  sessions: {
    max: integer({
      default: 10_000,
      min: 1,
      max: 1_000_000,
      about: 'How many broadcasters and viewers one process takes at a time; more are refused with 503.',
    }),
    publisherShare: rate({
      default: 0.1,
      about: 'The share of `sessions.max` that is kept for broadcasters: viewers cannot take it.',
    }),
    tokenShare: rate({
      default: 0.9,
      about:
        'The share of all viewers, or of all broadcasters, that one token may admit at a time, or one account without a token.',
    }),
    maxViewersPerAddress: integer({
      default: 2000,
      min: 0,
      max: 1_000_000,
      about: 'How many viewers one IPv4 address or IPv6 /64 may be at a time, then 429; 0 means any number.',
    }),
    maxPublishersPerAddress: integer({
      default: 200,
      min: 0,
      max: 1_000_000,
      about: 'How many broadcasters one IPv4 address or IPv6 /64 may be at a time, then 429; 0 means any number.',
    }),
    maxConnectingPerAddress: integer({
      default: 500,
      min: 0,
      max: 1_000_000,
      about:
        'How many WHIP or WHEP sessions of one address may wait for their media connection at a time, then 429; 0 means any number.',
    }),
    flushSeconds: integer({
      default: 3,
      min: 1,
      max: 10,
      about: 'How often the bytes of sessions are written, in seconds; a crash loses this much counting, at most 10 s.',
    }),
    leaseSeconds: integer({
      default: 15,
      min: 5,
      max: 300,
      about: 'How long other nodes believe that a process lives after it renewed its lease, in seconds.',
    }),
    noViewersSeconds: integer({
      default: 60,
      min: 1,
      max: 3600,
      about: 'How long after the last viewer left the event `NoActiveViewers` is sent, in seconds.',
    }),
    retentionDays: integer({
      default: 30,
      min: 1,
      max: 3650,
      about: 'How long sessions and feeds that have ended are kept, in days.',
    }),
  },
} as const
