import { type TSchema, Type } from 'typebox'

/** The building blocks of the channels API's schemas. */

const NAME_MAX = 128

export const name = () =>
  Type.String({ minLength: 1, maxLength: NAME_MAX, description: 'A name for people.', examples: ['Main stage'] })

export const optional = <T extends TSchema>(schema: T) => Type.Optional(schema)

/** `null` clears an optional field. */
export const nullable = <T extends TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))

export const textField = (maxLength: number, description?: string) =>
  Type.String({ minLength: 1, maxLength, ...(description === undefined ? {} : { description }) })

export const wholeField = (minimum: number, maximum: number, description?: string) =>
  Type.Integer({ minimum, maximum, ...(description === undefined ? {} : { description }) })

export const date = () => Type.String({ format: 'date-time' })

export const word = <const W extends string>(words: readonly W[], description?: string) =>
  Type.Enum([...words], description === undefined ? {} : { description })

/** `{data}` */
export const one = (data: TSchema) => Type.Object({ data })

/** `{data, pagination}` */
export const page = (item: TSchema) =>
  Type.Object({
    data: Type.Array(item),
    pagination: Type.Object({
      hasMore: Type.Boolean(),
      cursor: Type.Optional(Type.String({ description: 'For the next page; absent on the last one.' })),
    }),
  })

/** The parameters of every list. */
export const pageQuery = {
  limit: optional(Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'The most items of the page.' })),
  cursor: optional(Type.String({ description: 'From the page before; keep the other parameters but `limit`.' })),
}
