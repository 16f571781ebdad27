import { Type } from 'typebox'

/** A number of things: 0 or more. */
export const count = (description?: string) =>
  Type.Integer({ minimum: 0, ...(description === undefined ? {} : { description }) })

/** A moment, ISO 8601. */
export const dateTime = (description = 'UTC.') => Type.String({ format: 'date-time', description })

/** Of a query for a list: where its next page begins. */
export const pageCursor = Type.Optional(
  Type.String({ description: 'From the page before; keep the other parameters.' }),
)

/** Of a report of a node. */
export const reportedNode = Type.String({ description: 'The id of the node that it is about.' })
