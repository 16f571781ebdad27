import { integer, rate } from './keys.ts'

/** The configuration keys of the access decision and of its log. */
export const access = {
  access: {
    cacheTokens: integer({
      default: 50_000,
      min: 100,
      max: 10_000_000,
      about: 'How many tokens each process keeps in memory to decide without asking the store.',
    }),
    staleSeconds: integer({
      default: 30,
      min: 0,
      max: 3600,
      about: 'How long decisions go on from memory while the store cannot be reached, in seconds.',
    }),
    log: {
      refusalRate: rate({ default: 1, about: 'The share of refusals that are written to the access log.' }),
      admissionRate: rate({ default: 0, about: 'The share of admissions that are written to the access log.' }),
      retentionDays: integer({
        default: 30,
        min: 1,
        max: 3650,
        about: 'How long the access log is kept, in days.',
      }),
      rowsPerMinute: integer({
        default: 240,
        min: 1,
        max: 1_000_000,
        about:
          'How many rows the refusals of one account may become in a minute, repeats folded; more are only counted.',
      }),
      totalRowsPerMinute: integer({
        default: 2400,
        min: 1,
        max: 10_000_000,
        about: 'The same for all accounts of one process together.',
      }),
      minFreeMegabytes: integer({
        default: 1024,
        min: 0,
        max: 1_000_000_000,
        about:
          'How much of the disk of a SQLite database the access log leaves free, in megabytes, and at most a twentieth of it.',
      }),
      bufferRows: integer({
        default: 10_000,
        min: 100,
        max: 1_000_000,
        about: 'How many rows of the access log wait in memory to be written; more are counted and dropped.',
      }),
    },
  },
} as const
