import { integer, rate } from './keys.ts'

/** The configuration keys of the access decision and of its log. */
export const access = {
  access: {
    cacheTokens: integer({
      default: 50_000,
      min: 100,
      max: 10_000_000,
      about: 'How many tokens each process caches in memory, to decide without a query to the store.',
    }),
    staleSeconds: integer({
      live: true,
      default: 30,
      min: 0,
      max: 3600,
      about: 'How long each process decides from its cache while the store is unreachable, in seconds.',
    }),
    forwardStaleSeconds: integer({
      live: true,
      default: 300,
      min: 0,
      max: 86_400,
      about: 'How long a node forwards secured streams of other nodes while the store is unreachable, in seconds.',
    }),
    log: {
      refusalRate: rate({
        live: true,
        default: 1,
        about: 'The share of refusals that Sluice writes to the access log.',
      }),
      admissionRate: rate({
        live: true,
        default: 0,
        about:
          'The share of admissions that Sluice writes to the access log; an account can have all of its own written, at run time.',
      }),
      retentionDays: integer({
        live: true,
        default: 30,
        min: 1,
        max: 3650,
        about: 'How long rows of the access log are kept, in days.',
      }),
      rowsPerMinute: integer({
        live: true,
        default: 240,
        min: 1,
        max: 1_000_000,
        about:
          'The most rows per minute for the refusals of one account, after repeats are folded, and for its admissions; ' +
          'further ones are only counted.',
      }),
      totalRowsPerMinute: integer({
        live: true,
        default: 2400,
        min: 1,
        max: 10_000_000,
        about: 'The most rows per minute for the refusals of all accounts of one process, and as many for admissions.',
      }),
      minFreeMegabytes: integer({
        live: true,
        default: 1024,
        min: 0,
        max: 1_000_000_000,
        about:
          'The disk space that the access log leaves free beside a SQLite database, in megabytes, but at most a twentieth of the disk.',
      }),
      bufferRows: integer({
        live: true,
        default: 10_000,
        min: 100,
        max: 1_000_000,
        about:
          'The most rows of the access log that wait in memory to be written; further rows are dropped and counted.',
      }),
    },
  },
} as const
