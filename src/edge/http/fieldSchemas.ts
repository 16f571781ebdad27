import { Type } from 'typebox'

/** A number of things: 0 or more. */
export const count = (description?: string) =>
  Type.Integer({ minimum: 0, ...(description === undefined ? {} : { description }) })

/** A moment, ISO 8601. */
export const dateTime = (description = 'UTC.') => Type.String({ format: 'date-time', description })
