import { integer, toggle } from './keys.ts'

/** The configuration keys of what is counted and reported. */
export const analytics = {
  analytics: {
    retentionDays: integer({
      live: true,
      default: 400,
      min: 31,
      max: 3650,
      about: 'How long usage totals are kept, in days.',
    }),
    playerReports: toggle({
      live: true,
      default: true,
      about:
        'Whether Sluice takes what players report of how well they play, also as CMCD. Analytics shows it by stream.',
    }),
  },
} as const
