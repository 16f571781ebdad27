import { Type, type TSchema } from 'typebox'

/** `null` means the default on create, and no change on update. */
export const orNull = <T extends TSchema>(schema: T, description: string) =>
  Type.Union([schema, Type.Null()], { description })

export const flag = (description: string) => Type.Optional(orNull(Type.Boolean(), description))
