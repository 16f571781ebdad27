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
      bufferRows: integer({
        default: 10_000,
        min: 100,
        max: 1_000_000,
        about: 'How many rows of the access log wait in memory to be written; more are counted and dropped.',
      }),
    },
  },
} as const
